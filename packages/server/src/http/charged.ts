/** What gives back one charge. Never rejects. */
type GiveBack = () => Promise<void>

interface Charged {
  [CHARGES]?: GiveBack[]
}

const CHARGES = Symbol('ratepact: charged for this request')

/** Notes what a limiter has charged for a request, for the case that one after it refuses. */
export function noteCharged(shared: object, giveBack: GiveBack): void {
  const request = shared as Charged
  const charges = request[CHARGES]
  if (charges === undefined) request[CHARGES] = [giveBack]
  else charges.push(giveBack)
}

/** Gives back what the limiters before this one have charged for a request. Nobody waits for it. */
export function giveBackEarlier(shared: object): void {
  for (const giveBack of (shared as Charged)[CHARGES]?.splice(0) ?? []) void giveBack()
}
