import { RecentMap } from './recent-map.js'

const mostRoutes = 1000

/** What is known of one route, and what is under way on it. */
export interface Route {
  readonly name: string
  /** The limits last stated on it; undefined until an answer states one. */
  keys: readonly string[] | undefined
  /** Some answer has arrived on it. */
  answered: boolean
  open: number
}

/** The routes of one partition, the most recent thousand. */
export class Routes {
  readonly #recent = new RecentMap<Route>(mostRoutes)

  /** The route, if it was ever used. */
  get(name: string): Route | undefined {
    return this.#recent.get(name)
  }

  /** The route, made if need be, as the most recent one. */
  use(name: string): Route {
    const route = this.#recent.get(name) ?? { name, keys: undefined, answered: false, open: 0 }
    this.#recent.set(name, route)
    return route
  }
}
