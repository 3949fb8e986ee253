/** A field of a body. Nested fields follow their parent, named like `components[].image`. */
export type BodyField = {
  readonly name: string
  /** With bounds, such as `integer, 0 to 99`. */
  readonly type: string
  readonly isRequired?: true
  /** As JSON; absent if there is none, or if it depends on other fields, as `about` then says. */
  readonly default?: string
  readonly about: string
}
