import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { countOf, type Seen } from './load.js'

const PAGE = new URL('../../../docs/faults.md', import.meta.url)

/**
 * Sees to it that the page tells what users see of a fault; with FAULTS_TABLE=write in the environment it writes what
 * they have seen now.
 * @param seen answers to what was sent while it lasted
 * @param backMs after which Redis was asked again
 */
export function expectRow(fault: string, mode: string, seen: readonly Seen[], backMs: number): void {
  const name = `| ${fault.replaceAll('|', '/')} | ${mode} |`
  const lines = readFileSync(PAGE, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.startsWith(name))
  if (process.env.FAULTS_TABLE !== 'write') {
    expect(at, `docs/faults.md has no row "${name}": write it with FAULTS_TABLE=write`).toBeGreaterThan(0)
    return
  }
  const row = `${name} ${wordsFor(seen)} | ${Math.round(backMs)} ms |`
  if (at >= 0) lines[at] = row
  else lines.splice(lines.findLastIndex((line) => line.startsWith('|')) + 1, 0, row)
  writeFileSync(PAGE, lines.join('\n'))
}

const WORDS = {
  counted: '200 with limits',
  unchecked: '200 without limits',
  unavailable: '503',
  limited: '429',
  lost: 'no answer',
  strange: 'something else',
}

function wordsFor(seen: readonly Seen[]): string {
  const counts = Object.entries(countOf(seen)).filter(([, count]) => count > 0)
  return counts.map(([kind, count]) => `${count} × ${WORDS[kind as keyof typeof WORDS]}`).join(', ')
}
