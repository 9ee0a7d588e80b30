import { cancelBody } from './cancel.js'
import type { Settings } from './options.js'
import { peekAt } from './peek.js'
import { readVerdict, type Verdict } from './retry-options.js'

/** What the caller makes of an answer, and the answer to go on with. */
export async function judge(
  { classify, clock }: Settings,
  answer: Response,
): Promise<{ response: Response; verdict: Verdict }> {
  let peeking: ReturnType<typeof peekAt> | undefined
  const peek = async (): Promise<string> => {
    peeking ??= peekAt(answer, clock)
    return (await peeking).text
  }
  try {
    const verdict = readVerdict(await classify?.(answer, peek))
    return { response: (await peeking)?.response ?? answer, verdict }
  } catch (error) {
    cancelBody((await peeking)?.response.body ?? answer.body)
    throw error
  }
}
