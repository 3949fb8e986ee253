import { isCidrList } from '../core/cidr.ts'
import { compareQuantities } from '../core/quantity.ts'
import type { Rule } from './define.ts'

/** Rules over the fields of `workloadFields.ts`, for each kind that has them. */

/** Returns words of ours, which need no escaping, as a CEL list. */
export const celList = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`

type Bounds = { [Field in 'cpuRequest' | 'cpuLimit' | 'memoryRequest' | 'memoryLimit']?: string | undefined }

function noGreater(lower: 'cpuRequest' | 'memoryRequest', upper: 'cpuLimit' | 'memoryLimit'): Rule<Bounds> {
  return {
    cel: `!has(self.${lower}) || !has(self.${upper}) || quantity(self.${upper}).compareTo(quantity(self.${lower})) >= 0`,
    message: `${upper} must not be less than ${lower}`,
    field: upper,
    test: (next) => {
      const [low, high] = [next[lower], next[upper]]
      return low === undefined || high === undefined || compareQuantities(high, low) >= 0
    },
  }
}

export const requestLimitRules: readonly Rule<Bounds>[] = [
  noGreater('cpuRequest', 'cpuLimit'),
  noGreater('memoryRequest', 'memoryLimit'),
]

/** For the size of a volume. */
export function growOnlyRule<Field extends string>(field: Field): Rule<{ [Key in Field]?: string | undefined }> {
  return {
    cel: `!has(oldSelf.${field}) || !has(self.${field}) || quantity(self.${field}).compareTo(quantity(oldSelf.${field})) >= 0`,
    message: `${field} may grow but not shrink: volumes cannot give space back`,
    code: 'STORAGE_CANNOT_SHRINK',
    field,
    test: (next, previous) => {
      const [after, before]: (string | undefined)[] = [next[field], previous[field]]
      return after === undefined || before === undefined || compareQuantities(after, before) >= 0
    },
  }
}

/** For a number that requests something once with each step. @param step what each step does */
export function incrementByOneRule<Field extends string>(field: Field, step: string): Rule<{ [Key in Field]: number }> {
  return {
    cel: `self.${field} >= oldSelf.${field} && self.${field} <= oldSelf.${field} + 1`,
    message: `${field} grows by one at a time: each step ${step}`,
    field,
    test: (next, previous) => next[field] === previous[field] || next[field] === previous[field] + 1,
  }
}

export const allowedCidrsRule: Rule<{ allowedCidrs?: string | undefined }> = {
  cel: "!has(self.allowedCidrs) || self.allowedCidrs == '' || (self.allowedCidrs.split(',').size() <= 50 && self.allowedCidrs.split(',').all(c, isCIDR(c) && string(cidr(c).masked()) == c))",
  message:
    'allowedCidrs must be a comma-separated list of at most 50 canonical networks, such as 203.0.113.0/24,2001:db8::/32',
  field: 'allowedCidrs',
  test: (next) => next.allowedCidrs === undefined || next.allowedCidrs === '' || isCidrList(next.allowedCidrs),
}
