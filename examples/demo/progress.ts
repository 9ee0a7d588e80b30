import { calls } from './limits.js'
import type { Watch } from './run.js'

const barWidth = 30
const everySeconds = 2

/** Shows how far a client has come: a line that grows in a terminal, some lines elsewhere. */
export function showProgress(title: string, out: NodeJS.WriteStream): { watch: Watch; end(): void } {
  let shownAt = Number.NEGATIVE_INFINITY
  let last = ''
  const watch: Watch = ({ completed, refused }, seconds) => {
    const full = Math.round((completed / calls) * barWidth)
    const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
    const done = `${String(completed).padStart(3)}/${calls}`
    last = `  ${title.padEnd(28)}${bar}  ${done}  429s ${String(refused).padStart(4)}  ${seconds.toFixed(1).padStart(4)} s`
    if (out.isTTY) out.write(`\r${last}`)
    else if (seconds >= shownAt + everySeconds) {
      out.write(`${last}\n`)
      shownAt = seconds
    }
  }
  return { watch, end: () => void out.write(out.isTTY ? '\n' : `${last}\n`) }
}
