/** How long one call in flight is waited for before one more may go. */
export const patienceMs = 5000
const firstMs = 1000
const capMs = 60_000

/**
 * The instant at which a call asks where nothing says when more will be there: after a call in flight has been
 * waited for, or, with none in flight, after a pause that doubles with each silent answer.
 */
export function patientMs(lastSendMs: number, inFlight: boolean, silent: number, answerMs: number): number {
  return lastSendMs + (inFlight ? answerMs : Math.min(capMs, firstMs * 2 ** silent))
}
