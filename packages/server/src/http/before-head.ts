import { listOf } from '../list.js'
import { isHooked } from './express-head.js'
import { marksOf } from './marks.js'
import { completeHead, type HeadListener, type NodeResponse } from './node-head.js'

/**
 * Calls back once, when the head is about to be written and so its final status is known, with a chance to add to
 * it. Listeners of one response are called in the order in which they came.
 */
export function beforeHead(response: NodeResponse, listener: HeadListener): void {
  const marks = marksOf(response)
  if (marks.listeners !== undefined) {
    marks.listeners.push(listener)
    return
  }
  const listeners: HeadListener[] = listOf(listener)
  marks.listeners = listeners
  if (isHooked(response)) return
  const { writeHead } = response
  response.writeHead = function (status: number, ...rest: unknown[]): unknown {
    return completeHead(this, listeners, writeHead, status, rest)
  }
}
