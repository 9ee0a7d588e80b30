/** Frames of a server that is handling a request, in the frameworks that there are adapters for and in Node. */
const HANDLING = new RegExp(
  [
    'parserOnIncoming',
    'onServerStream',
    'Layer\\.handle',
    'preHandlerCallback',
    'hookRunner\\b',
    'koa-compose[\\\\/]',
    'router-execution-context',
    '[\\\\/]hono[\\\\/]dist[\\\\/](cjs[\\\\/])?compose',
  ].join('|'),
)
const FRAMES = 100

/** Whether what runs now was called by a server that is handling a request; false where the platform does not tell. */
export function isHandling(): boolean {
  const error = Error as { stackTraceLimit?: number }
  const limit = error.stackTraceLimit
  if (limit === undefined) return false
  error.stackTraceLimit = FRAMES
  const { stack = '' } = new Error('where')
  error.stackTraceLimit = limit
  return HANDLING.test(stack)
}
