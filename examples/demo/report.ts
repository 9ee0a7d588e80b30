import { titles } from './clients.js'
import { calls, capacity, idealSeconds, refillPerSecond } from './limits.js'
import type { Orders } from './orders.js'
import type { Result } from './run.js'

export function introduction({ url, about }: Orders): string {
  return `
  An orders API (Express, ${url}) grants each API key ${capacity} calls at once
  and ${refillPerSecond} more per second. It counts in ${about}.

  Two clients make ${calls} calls each, all at once, one client after the other.
  Neither can be done before (${calls} - ${capacity}) / ${refillPerSecond} = ${idealSeconds.toFixed(1)} s.
`
}

export function table(results: readonly Result[]): string {
  const head = ['client', 'completed', '429s', 'sends', 'seconds', '÷ ideal']
  const rows = results.map(({ name, completed, refused, sends, seconds, ratio }) => [
    titles[name],
    `${completed}/${calls}`,
    String(refused),
    String(sends),
    seconds.toFixed(2),
    ratio.toFixed(2),
  ])
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart((widths[i] ?? 0) + 3)))
      .join('')
  const rule = '─'.repeat(line(head).length)
  return ['', line(head), rule, ...rows.map(line), ''].map((text) => `  ${text}`.trimEnd()).join('\n')
}

export function json({ store }: Orders, clients: readonly Result[]): string {
  return JSON.stringify({ store, idealSeconds, clients }, undefined, 2)
}
