/** An object on its way to be what is told of it. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] }

/**
 * A class of objects that nobody can tell from literals, not even by their prototype: for what callers are handed, and
 * may compare. Why no literals: see `listOf`.
 * @param fill sets the properties, in their order
 */
export function plain<T extends object, Told extends unknown[]>(
  fill: (this: Draft<T>, ...told: Told) => void,
): new (
  ...told: Told
) => T {
  fill.prototype = Object.prototype
  return fill as unknown as new (
    ...told: Told
  ) => T
}
