/** A field of a body. Those of records in it stand behind their own, as `components[].image`. */
export type BodyField = {
  readonly name: string
  /** With its bounds, such as `integer, 0 to 99`. */
  readonly type: string
  readonly isRequired?: true
  /** As JSON; absent where there is none, and where it follows from something else, which `about` then says. */
  readonly default?: string
  readonly about: string
}
