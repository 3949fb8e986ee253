import type { CollectionRoute, GivenArguments } from './collection.ts'

export const BOUNDARY_PARAMETER = 'boundaryId'
export const GROUP_PARAMETERS = ['resourceGroupName', 'resourceGroup']

export const FLAGS: Readonly<Record<string, string>> = {
  boundaryId: '--boundary',
  resourceGroupName: '--group',
  resourceGroup: '--group',
}
export const flagOf = (parameter: string) => FLAGS[parameter] ?? `--param ${parameter}=...`

export function givenValue(parameter: string, route: CollectionRoute, given: GivenArguments): string | undefined {
  if (parameter === route.nameParameter) return given.name
  if (parameter === BOUNDARY_PARAMETER) return given.boundary
  return GROUP_PARAMETERS.includes(parameter) ? given.group : undefined
}

/** Explains `--all-groups` where it does not apply, instead of asking for a group. */
export function describeAllGroupsMisuse(
  noun: string,
  candidates: readonly CollectionRoute[],
  { isAcross, name }: GivenArguments,
) {
  const isInGroup = ({ parameters }: CollectionRoute) => parameters.some((each) => GROUP_PARAMETERS.includes(each))
  if (isAcross !== true || !candidates.every(isInGroup)) return undefined
  if (name !== undefined) return `--all-groups is for lists: name the group of ${noun} ${name}.`
  return `${noun} have no list across groups, so that --all-groups is not possible.`
}

/** What is missing or superfluous compared with the closest form: `--boundary and --group are missing.` */
export type ArgumentGap = { readonly sentence: string; readonly missing: readonly string[] }

export function argumentGap(candidates: readonly CollectionRoute[], given: GivenArguments): ArgumentGap {
  const { parameters = {} } = given
  const gaps = candidates.map((route) => {
    const { nameParameter } = route
    const missing = route.parameters
      .filter((parameter) => !(parameters[parameter] ?? givenValue(parameter, route, given)))
      .map((parameter) => (parameter === nameParameter ? 'NAME' : flagOf(parameter)))
    const unknown = Object.keys(parameters).filter((name) => !route.parameters.includes(name))
    const usesName = nameParameter !== undefined && parameters[nameParameter] === undefined
    const superfluous = [...(given.name !== undefined && !usesName ? ['NAME'] : []), ...unknown.map(flagOf)]
    const sentences = [sentenceOf(missing, 'missing'), sentenceOf(superfluous, 'superfluous')].filter(Boolean)
    return { distance: superfluous.length * SURPLUS_WEIGHT + missing.length, sentence: sentences.join(' '), missing }
  })
  const nearest = Math.min(...gaps.map(({ distance }) => distance))
  const [first, ...others] = gaps.filter(({ distance }) => distance === nearest)
  if (first !== undefined && others.every(({ sentence }) => sentence === first.sentence)) return first
  return { sentence: `An argument is ${nearest < SURPLUS_WEIGHT ? 'missing' : 'missing or superfluous'}.`, missing: [] }
}

/** A superfluous argument weighs more than any number of missing ones. */
const SURPLUS_WEIGHT = 100

const sentenceOf = (words: readonly string[], what: string) =>
  words.length === 0 ? '' : `${words.join(' and ')} ${words.length === 1 ? 'is' : 'are'} ${what}.`
