/** A binary heap that can also give up an entry from its middle. All steps take O(log n). */
export class Heap<T> {
  readonly #before: (a: T, b: T) => boolean
  readonly #entries: T[] = []
  readonly #places = new Map<T, number>()

  /** @param before whether a is to come out before b */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#entries.length
  }

  /** The entry that comes out first. */
  peek(): T | undefined {
    return this.#entries[0]
  }

  push(entry: T): void {
    this.#put(entry, this.#entries.length)
    this.#rise(entry)
  }

  remove(entry: T): void {
    const place = this.#places.get(entry)
    if (place === undefined) return
    this.#places.delete(entry)
    const last = this.#entries.pop()
    if (last === undefined || last === entry) return
    this.#put(last, place)
    this.#rise(last)
    this.#sink(last)
  }

  #put(entry: T, place: number): void {
    this.#entries[place] = entry
    this.#places.set(entry, place)
  }

  #rise(entry: T): void {
    for (;;) {
      const place = this.#places.get(entry) ?? 0
      const parent = this.#entries[(place - 1) >> 1]
      if (place === 0 || parent === undefined || !this.#before(entry, parent)) return
      this.#put(parent, place)
      this.#put(entry, (place - 1) >> 1)
    }
  }

  #sink(entry: T): void {
    for (;;) {
      const place = this.#places.get(entry) ?? 0
      const left = this.#entries[2 * place + 1]
      const right = this.#entries[2 * place + 2]
      if (left === undefined) return
      const rightFirst = right !== undefined && this.#before(right, left)
      const child = rightFirst ? right : left
      if (!this.#before(child, entry)) return
      this.#put(child, place)
      this.#put(entry, 2 * place + (rightFirst ? 2 : 1))
    }
  }
}
