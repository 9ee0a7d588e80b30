import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OpenMetricsContentType, Registry } from 'prom-client'
import { onTestFinished } from 'vitest'

/** What Prometheus reads from a program, by name and labels as they stand there. */
export interface Scraped {
  readonly text: string
  readonly series: ReadonlyMap<string, number>
  /** Of all series, each once. */
  readonly names: readonly string[]
  /** The value of the one series of this name whose labels have these among them, empty ones left out. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
  /** Each series of a name, its labels that have something to say, and its value. */
  all(name: string): readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]
}

/** Serves a registry as programs do, for the length of a test. @returns a look at it, over HTTP */
export async function exposed(
  register: Registry | Registry<OpenMetricsContentType>,
): Promise<() => Promise<Scraped>> {
  const server = createServer(async (_request, response) => {
    response.setHeader('Content-Type', register.contentType)
    response.end(await register.metrics())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return async () => scrapedFrom(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
}

/** Reads a page for Prometheus. */
export function scrapedFrom(text: string): Scraped {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const series = new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
  const all: Scraped['all'] = (name) =>
    [...series].filter(([key]) => key.split('{')[0] === name).map(([key, value]) => [labelsIn(key), value])
  return {
    text,
    series,
    names: [...new Set([...series.keys()].map((key) => key.split('{')[0] ?? ''))],
    all,
    value(name, labels = {}) {
      const wanted = Object.entries(labels)
      const found = all(name).filter(([own]) => wanted.every(([label, value]) => own[label] === value))
      if (found.length > 1)
        throw new Error(`${found.length} series of ${name} have ${JSON.stringify(labels)}`)
      return found[0]?.[1]
    },
  }
}

function labelsIn(key: string): Readonly<Record<string, string>> {
  const pairs = [...key.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(
    pairs
      .map(([, name = '', value = '']) => [name, JSON.parse(`"${value}"`) as string] as const)
      .filter(([, value]) => value !== ''),
  )
}
