import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'

const readme = readFileSync(new URL('../../packages/contract/README.md', import.meta.url), 'utf8')
const snippets = Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), (match) => match[1] ?? '')
// Beside this file, so that the package is found by its name.
const directory = mkdtempSync(join(import.meta.dirname, '.readme-'))

afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Turns each line that is followed by "// → value" into a pair of what it gives and what it says it gives. */
function program(snippet: string): string {
  const claims = /^(?!\/\/)(.+)\n\/\/ → (.+)$/gm
  return `export const pairs: unknown[][] = []\n${snippet.replace(claims, '\npairs.push([$1, $2])')}`
}

describe('the README', () => {
  test('has snippets, each with something to compare', () => {
    expect(snippets.length).toBe(6)
    for (const snippet of snippets) expect(program(snippet)).toContain('pairs.push')
  })

  test.each(snippets.map((snippet, index) => [index, snippet] as const))(
    'tells the truth in snippet %d',
    async (index, snippet) => {
      const file = join(directory, `snippet-${index}.ts`)
      writeFileSync(file, program(snippet))
      const { pairs } = (await import(pathToFileURL(file).href)) as { pairs: [unknown, unknown][] }
      expect(pairs.length).toBe(snippet.match(/^\/\/ →/gm)?.length)
      for (const [given, stated] of pairs) expect(given).toEqual(stated)
    },
  )
})
