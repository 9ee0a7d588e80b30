/**
 * Where a limiter writes for people: `console`, and a logger of pino or winston, fit as they are. It is called with one
 * text, in which no identity of a caller ever is.
 */
export interface Logger {
  info(message: string): unknown
  warn(message: string): unknown
  error(message: string): unknown
}
