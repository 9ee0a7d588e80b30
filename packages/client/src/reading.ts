import { isNodeStream } from './cancel.js'
import { type Leftovers, readers } from './follow.js'
import type { Flight } from './pace/pace.js'
import { never } from './pace/quota.js'
import type { Queue } from './queue.js'

/** The place of a call whose answer is to be read, among those that a limit allows at once. */
export class Place {
  readonly begin: () => void
  readonly end: () => void

  constructor(queue: Queue, flight: Flight) {
    let ended = false
    // However slowly it comes: whoever sends it counts it, too.
    this.begin = () => ended || queue.keep(flight, never)
    this.end = () => {
      if (!ended) queue.keep(flight, 0)
      ended = true
    }
  }
}

/** Keeps a place while a body is read, until that ends, whichever way, or the body is no longer reachable. */
export function watchReading(response: Response, { begin, end }: Place, dropped: Leftovers): void {
  const body: ReadableStream | null | undefined = response.body
  if (!body) {
    end()
    return
  }
  dropped.register(body, end)
  const during = (reading: Promise<unknown>): void => {
    begin()
    Promise.resolve(reading).then(end, end)
  }
  for (const name of readers) wrap(response, name, during)
  if (isNodeStream(body)) {
    for (const event of ['end', 'close']) body.on(event, end)
    return
  }
  wrap(body, 'getReader', ({ closed }: ReadableStreamDefaultReader) => during(closed))
  wrap(body, 'pipeTo', during)
  wrap(body, 'cancel', end)
  // Who reads it twice cannot be followed.
  wrap(body, 'tee', end)
  for (const name of ['values', Symbol.asyncIterator])
    wrap(body, name, (steps: AsyncIterator<unknown>) => {
      begin()
      wrap(steps, 'next', (step: Promise<IteratorResult<unknown>>) =>
        Promise.resolve(step).then(({ done }) => done && end(), end),
      )
      wrap(steps, 'return', end)
    })
  const through = body.pipeThrough
  // As the standard has it, but for a method that is followed.
  const value: typeof through = (pair, options) => {
    if (body.locked) return through.call(body, pair, options) as typeof pair.readable
    body.pipeTo(pair.writable, options).catch(() => {})
    return pair.readable
  }
  if (typeof through === 'function') define(body, 'pipeThrough', value)
}

/** Lets `look` see what a method of that one object gives. */
function wrap<Given>(object: object, name: string | symbol, look: (given: Given) => void): void {
  const method: unknown = Reflect.get(object, name)
  if (typeof method !== 'function') return
  const value = (...args: unknown[]): unknown => {
    const given = Reflect.apply(method, object, args)
    look(given)
    return given
  }
  define(object, name, value)
}

function define(object: object, name: string | symbol, value: unknown): void {
  Reflect.defineProperty(object, name, { value, configurable: true, writable: true })
}
