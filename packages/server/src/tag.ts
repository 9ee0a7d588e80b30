/** Something that objects carry without anybody seeing it: no property, not copied with the object, gone with it. */
export interface Tag<T> {
  /** Once per object. */
  put(object: object, value: T): void
  get(object: object): T | undefined
}

/** Hands back the object that it is given, so that a class that extends it adds its fields to that object. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is how an object gets a private field of another class
    return object
  }
}

/**
 * A tag of its own: no other reads it. A WeakMap would mean the same, but every collection of young objects walks its
 * entries: with one entry per decision that costs more than deciding.
 */
export function createTag<T>(): Tag<T> {
  class Tagged extends Given {
    readonly #value: T

    constructor(object: object, value: T) {
      super(object)
      this.#value = value
    }

    static of(object: object): T | undefined {
      return #value in object ? object.#value : undefined
    }
  }
  return {
    put(object, value) {
      new Tagged(object, value)
    },
    get: Tagged.of,
  }
}
