interface Emitter {
  readonly emitWarning?: (warning: string, type: string) => void
}

/** Where a warning goes unless the user takes it: the process's warnings, or the console where there is no process. */
export function warnByDefault(message: string): void {
  const { process } = globalThis as { readonly process?: Emitter }
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, 'RatepactWarning')
  else console.warn(message)
}
