/**
 * Set on an answer that one client has done all it would for, so that a client wrapped around it does
 * not try again. On the answer itself, under a name that all copies of this package share.
 */
const mark: symbol = Symbol.for('ratepact.settled')

export function markSettled(response: Response): void {
  Reflect.defineProperty(response, mark, { value: true })
}

export function isSettled(response: Response): boolean {
  return Reflect.get(response, mark) === true
}
