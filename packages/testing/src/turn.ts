// Taken when the module loads, so that a test runner's fake timers, installed later, do not stop them.
const { setTimeout, setImmediate } = globalThis

/**
 * Lets everything that is ready run: promises, and what they start, for a few turns of the event loop. An answer
 * that comes through an interceptor of fetch takes some turns, though no time.
 */
export async function settleTurns(): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await nextTurn()
}

/** A moment of real time, for what is on its way through a socket. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}

const turns = 8

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
