import { configKey } from './lifecycle.ts'

/** A chart value that people set, as the facade shows it. */

export type NeededValue = {
  readonly key: string
  readonly title: string
  readonly type: 'String' | 'Integer' | 'Boolean'
  readonly isSecret: boolean
  readonly description: string
  readonly default?: string | undefined
}

/** A value as declared; the fields that it leaves out have defaults. */
type DeclaredValue = Pick<NeededValue, 'key' | 'title' | 'default'> & {
  readonly [Field in 'type' | 'isSecret' | 'description']?: NeededValue[Field] | undefined
}

type Component = {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly values: Readonly<Record<string, unknown>>
    readonly required: readonly DeclaredValue[]
  }
}
type Release = { readonly spec: { readonly requiredValues: readonly string[] } }

/** Entries of the Secret install-configuration, decoded. */
export type InstallValues = Readonly<Record<string, string>>

/** Returns the values that people set for a version. Those that only the release names count as secret. */
export function neededValues({ spec }: Component, release: Release | undefined): NeededValue[] {
  const declared = new Set(spec.required.map(({ key }) => key))
  const further = release?.spec.requiredValues.filter((key) => !declared.has(key)) ?? []
  return [
    ...spec.required.map((one) => ({
      ...one,
      ...{ type: one.type ?? 'String', isSecret: one.isSecret ?? false, description: one.description ?? '' },
    })),
    ...further.map((key) => ({ key, title: key, type: 'String' as const, isSecret: true, description: '' })),
  ]
}

/** Returns the keys of needed values that are neither set nor have a default. */
export function missingValues(component: Component, release: Release | undefined, held: InstallValues): string[] {
  return neededValues(component, release)
    .filter((one) => one.default === undefined && (held[configKey(component.metadata.name, one.key)] ?? '') === '')
    .map(({ key }) => key)
}

/** Returns the declared values, with the defaults of those that people may set. */
export function declaredValues({ spec }: Pick<Component, 'spec'>): Record<string, unknown> {
  const defaults = neededValues({ metadata: { name: '' }, spec }, undefined).flatMap((one) =>
    one.default === undefined ? [] : [[one, one.default] as const],
  )
  return defaults.reduce<Record<string, unknown>>(
    (whole, [{ key, type }, text]) => withValue(whole, key.split('.'), typedValue(text, type)),
    { ...spec.values },
  )
}

const MASK = '***'

/** Returns the values that the chart gets, with `***` for every secret. */
export function shownValues(
  component: Component,
  release: Release | undefined,
  held: InstallValues,
): Record<string, unknown> {
  return neededValues(component, release).reduce((whole, { key, type, isSecret, default: text }) => {
    const set = held[configKey(component.metadata.name, key)]
    if (set === undefined && (text === undefined || !isSecret)) return whole
    return withValue(whole, key.split('.'), isSecret ? MASK : typedValue(set ?? '', type))
  }, declaredValues(component))
}

/** Returns why a text is not a value of the type; undefined if it is one. */
export function valueObstacle(text: string, type: NeededValue['type']): string | undefined {
  if (text === '') return 'must not be empty'
  if (type === 'Boolean' && text !== 'true' && text !== 'false') return 'must be true or false'
  if (type === 'Integer' && !/^-?(0|[1-9][0-9]{0,14})$/.test(text)) return 'must be a whole number'
  return undefined
}

function typedValue(text: string, type: NeededValue['type']): string | number | boolean {
  if (type === 'Boolean') return text === 'true'
  return type === 'Integer' ? Number(text) : text
}

/** Sets a value at a path; replaces whatever on the path is not an object. */
function withValue(whole: object, path: readonly string[], value: unknown): Record<string, unknown> {
  const [first = '', ...rest] = path
  const inner = (whole as Record<string, unknown>)[first]
  const below = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}
  return { ...whole, [first]: rest.length === 0 ? value : withValue(below, rest, value) }
}
