import type { Runtime, RuntimeVersion } from './runtimes.ts'

/** `>=20`, `^22.1`, `22.x`, `~> 3.12`, `v24`. All must hold; of alternatives between `||` or `|`, one must. */
const COMPARATOR = /(>=|<=|!=|>|<|\^|~>|~|==|=)?\s*v?(\d+(?:\.\d+)*)(?:\.[*x])*/g

/** Ranges such as `18 - 22` of npm and Composer. */
const HYPHEN_RANGE = /(\S+)\s+-\s+(\S+)/g

/**
 * Chooses the version to build with: the default if it is permitted, otherwise the newest permitted one.
 *
 * @param wanted the range that the source needs; undefined if it states none
 * @returns undefined if no known version fits
 */
export function chooseVersion({ name, versions }: Runtime, wanted: string | undefined): RuntimeVersion | undefined {
  const byDefault = versions.find(({ isDefault }) => isDefault)
  if (wanted === undefined || !/\d/.test(wanted)) return byDefault
  // Composer's tilde means what `~>` means in Ruby.
  const range = name === 'php' ? wanted.replace(/~(?!>)/g, '~>') : wanted
  const permitted = versions.filter(({ version }) => isPermitted(version, range))
  return permitted.find(({ isDefault }) => isDefault) ?? permitted[0]
}

function isPermitted(version: string, wanted: string): boolean {
  return wanted.split(/\|\|?/).some((alternative) => {
    const comparators = [...alternative.replace(HYPHEN_RANGE, '>=$1 <=$2').matchAll(COMPARATOR)]
    return (
      comparators.length > 0 && comparators.every(([, operator = '=', text = '']) => satisfies(version, operator, text))
    )
  })
}

/** Compares as many numbers as our versions have: one for Node.js, two for Python. */
function satisfies(version: string, operator: string, text: string): boolean {
  const [ours, theirs] = [numbers(version), numbers(text)]
  const isPrecise = theirs.length > ours.length && theirs.slice(ours.length).some((part) => part > 0)
  const difference = compare(ours, theirs.slice(0, ours.length))
  if (operator === '>=') return difference >= 0
  // A version stands for all its patches: some of 3.12 are above 3.12.4, and some below.
  if (operator === '>') return difference > 0 || (difference === 0 && isPrecise)
  if (operator === '<') return difference < 0 || (difference === 0 && isPrecise)
  if (operator === '<=') return difference <= 0
  if (operator === '!=') return difference !== 0 || isPrecise
  const isOpen =
    ours.length > 1 && ((operator === '^' && theirs.length > 1) || (operator === '~>' && theirs.length === 2))
  return isOpen ? difference >= 0 && ours[0] === theirs[0] : difference === 0
}

const numbers = (text: string) => text.split('.').map(Number)

/** Numbers that the shorter version lacks count as equal. */
function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((part, index) => right[index] !== undefined && part !== right[index])
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0)
}
