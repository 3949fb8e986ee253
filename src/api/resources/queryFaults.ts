import { type FieldError, PlatformError } from '../../core/errors.ts'

/** 400 for a query, naming the parameter. */
export function badParameter(parameter: string, message: string): PlatformError {
  return refusal([{ field: parameter, message }])
}

/** The first fault gives the sentence and the parameter; all of them are in `errors`, like those of a body. */
function refusal(errors: readonly FieldError[]): PlatformError {
  const [first] = errors
  return new PlatformError('BAD_REQUEST', first?.message ?? 'The query is not valid.', {
    parameter: first?.field ?? '',
    errors,
  })
}

/** Collects all faults of a query, in the order in which they are found, so that a caller can correct them at once. */
export class QueryFaults {
  readonly #errors: FieldError[] = []

  add(parameter: string, message: string): void {
    this.#errors.push({ field: parameter, message })
  }

  has(parameter: string): boolean {
    return this.#errors.some(({ field }) => field === parameter)
  }

  /** Returns the result of `read`; if it throws a `badParameter`, records that and returns `otherwise`. */
  read<Value>(read: () => Value, otherwise: Value): Value {
    try {
      return read()
    } catch (error) {
      const { errors } = (error instanceof PlatformError ? error.extras : {}) as { errors?: readonly FieldError[] }
      if (errors === undefined) throw error
      this.#errors.push(...errors)
      return otherwise
    }
  }

  /** @throws PlatformError BAD_REQUEST with `parameter` and `errors`, if there is any */
  refuse(): void {
    if (this.#errors.length > 0) throw refusal(this.#errors)
  }
}
