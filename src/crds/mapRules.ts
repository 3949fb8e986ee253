import type { ErrorCode } from '../core/errors.ts'
import type { Rule } from './define.ts'

/**
 * A rule over each name in a map. The facade says which name it refuses, because a map may have a hundred. The API
 * server cannot: names in maps have no maximum length, and its cost budget for messages does not allow for that.
 *
 * @param rule.cel over `k`, the name; `test` decides the same for the name and its value
 */
export function mapKeysRule<Field extends string>(
  field: Field,
  rule: { cel: string; test: (name: string, value: string) => boolean; message: string; code?: ErrorCode },
): Rule<{ [Key in Field]: Record<string, string> }> {
  const { cel, test, message, code } = rule
  const faulty = (next: { [Key in Field]: Record<string, string> }) =>
    Object.entries<string>(next[field])
      .filter(([name, value]) => !test(name, value))
      .map(([name]) => name)
  return {
    cel: `self.${field}.all(k, ${cel})`,
    message,
    explain: (next) => `"${faulty(next).sort()[0]}" is not allowed: ${message}`,
    code,
    field,
    test: (next) => faulty(next).length === 0,
  }
}
