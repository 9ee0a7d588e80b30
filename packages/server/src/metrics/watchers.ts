import { safely } from '../tell/teller.js'
import type { Metrics, Watched, Watcher } from './metrics.js'

/** All that watch a limiter as one, whose faults harm nobody; undefined where nobody does. */
export function watchersOf(all: readonly Metrics[], limiter: Watched): Watcher | undefined {
  if (all.length === 0) return undefined
  const watchers = all.map((metrics) => metrics.watch(limiter))
  const each = (tell: (watcher: Watcher) => void) => {
    for (const watcher of watchers) safely(tell, watcher)
  }
  return {
    decided: (event) => each((watcher) => watcher.decided(event)),
    failed: (reason, mode) => each((watcher) => watcher.failed(reason, mode)),
    turned: (state) => each((watcher) => watcher.turned(state)),
    told: (event) => each((watcher) => watcher.told(event)),
    closed: () => each((watcher) => watcher.closed()),
  }
}
