import type { Head } from './head.js'
import { headOf, type NodeResponse } from './node-head.js'

/** Changes to a head that can be taken back. */
export interface Change extends Head {
  /** Puts back what was there, once. What somebody else has changed since stays theirs; of a head that is sent, all does. */
  undo(): void
}

/** As much of a response as is needed to change its head. */
export type Changeable = Pick<
  NodeResponse,
  'statusCode' | 'headersSent' | 'getHeader' | 'setHeader' | 'removeHeader'
>

type Value = ReturnType<NodeResponse['getHeader']>

interface Step {
  readonly name: string
  readonly before: Value
  readonly after: string | undefined
}

/** Sets the status of a head, and begins to change its fields. */
export function changeHead(response: Changeable, status: number): Change {
  let statusBefore: number | undefined = response.statusCode
  response.statusCode = status
  const steps: Step[] = []
  const head = headOf(response)

  function note(name: string, after: string | undefined): void {
    const before = response.getHeader(name)
    // Node appends to an array in place.
    steps.push({ name, before: Array.isArray(before) ? [...before] : before, after })
  }

  return {
    get: (name) => head.get(name),
    set(name, value) {
      note(name, value)
      response.setHeader(name, value)
    },
    remove(name) {
      if (response.getHeader(name) === undefined) return
      note(name, undefined)
      response.removeHeader(name)
    },
    undo() {
      if (response.headersSent) return
      if (response.statusCode === status && statusBefore !== undefined) response.statusCode = statusBefore
      statusBefore = undefined
      for (const step of steps.splice(0).reverse()) takeBack(response, step)
    },
  }
}

function takeBack(response: Changeable, { name, before, after }: Step): void {
  try {
    if (response.getHeader(name) !== after) return
    if (before === undefined) response.removeHeader(name)
    else response.setHeader(name, before as string)
  } catch {
    // A method wrapped by the user's middleware fails, as it may have done before: the other fields are as important.
  }
}
