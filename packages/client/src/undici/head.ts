/** Fields as undici gives them: by their names in lower case. */
export type Fields = Record<string, string | string[] | undefined>

/** The head of an answer, with as much of a `Response` as is needed to read it. */
export function headOf(status: number, fields: Fields, history: readonly URL[]): Response {
  const url = history.at(-1)
  const headers = {
    get(name: string): string | null {
      const value = fields[name.toLowerCase()]
      if (Array.isArray(value)) return value.join(', ')
      // What every object has besides, such as `constructor`, is no field.
      return typeof value === 'string' ? value : null
    },
    keys: () => Object.keys(fields),
  }
  return {
    status,
    headers,
    redirected: url !== undefined,
    url: url === undefined ? '' : String(url),
  } as unknown as Response
}
