import { readFileSync } from 'node:fs'
import { BUILTIN_RESOURCES } from '../../src/kube/builtin.ts'
import type { Resource } from '../../src/kube/object.ts'

/** Kubernetes' types in the client's package, read as text, because importing them takes a second. */
const MODELS = new URL('./gen/models/', import.meta.resolve('@kubernetes/client-node'))
const SCALARS: Readonly<Record<string, string>> = {
  string: 's',
  Date: 'd',
  V1MicroTime: 'd',
  number: 'n',
  boolean: 'b',
  IntOrString: 'i',
  any: '*',
  object: '*',
}
/** These schemas are recursive, and nobody reads them from another cluster. */
const SKIPPED_MODELS = new Set(['CustomResourceDefinition'])

type Forms = Record<string, Record<string, string>>

/** `src/kube/forms.json`: of each type that an object of Kubernetes holds, what its fields are (see `src/kube/typeSchema.ts`). */
export function formsModule(): string {
  const forms: Forms = {}
  const kinds: Record<string, string> = {}
  for (const resource of BUILTIN_RESOURCES) {
    if (SKIPPED_MODELS.has(resource.kind)) continue
    const name = modelOf(resource)
    addModel(forms, name)
    kinds[`${resource.group}/${resource.kind}`] = name
    // The API server always sends it, although its description does not require it.
    const { spec } = forms[name] ?? {}
    if (spec !== undefined) forms[name] = { ...forms[name], spec: `!${spec.replace('!', '')}` }
  }
  const lines = Object.keys(forms)
    .sort()
    .map((name) => `    ${JSON.stringify(name)}: ${JSON.stringify(forms[name])}`)
  return `{\n  "kinds": ${JSON.stringify(kinds)},\n  "types": {\n${lines.join(',\n')}\n  }\n}\n`
}

function modelOf({ group, version, kind }: Resource): string {
  return `${group === 'events.k8s.io' ? 'Events' : ''}V${version.slice(1)}${kind}`
}

function addModel(forms: Forms, name: string): void {
  if (forms[name] !== undefined) return
  const fields: Record<string, string> = {}
  forms[name] = fields
  const text = readFileSync(new URL(`${name}.d.ts`, MODELS), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const own = text.slice(text.indexOf('export declare class'), text.indexOf('static readonly discriminator'))
  for (const [, field = '', isOptional, type = ''] of own.matchAll(/'([^']+)'(\??): ((?:\{[^}]*\}|[^;{])+);/g)) {
    // Metadata is checked separately, and types are known from the request.
    if (['metadata', 'apiVersion', 'kind'].includes(field)) continue
    const form = formOf(forms, type.replaceAll(/\s+/g, ' ').trim())
    // Times may be null even if required.
    if (!form.endsWith('*')) fields[field.replace(/^_/, '')] = isOptional === '' && form !== 'd' ? `!${form}` : form
  }
}

function formOf(forms: Forms, type: string): string {
  const scalar = SCALARS[type]
  if (scalar !== undefined) return scalar
  const list = /^(?:Array|Set)<(.*)>$/.exec(type)?.[1]
  if (list !== undefined) return `[${formOf(forms, list)}`
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1]
  if (map !== undefined) return `{${formOf(forms, map)}`
  addModel(forms, type)
  return type
}
