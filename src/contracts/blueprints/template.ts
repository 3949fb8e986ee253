import { gt } from 'semver'
import { z } from 'zod'
import { RESOURCE_NAME_PATTERN } from '../../core/names.ts'
import { isShown, SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE, type ShownText } from '../../core/shownText.ts'
import { PLAN_FAMILIES } from '../../core/sizing/plans.ts'

export const BLUEPRINT_CATEGORIES = ['Web', 'Data', 'Ai', 'Messaging', 'Storage', 'Tools'] as const
export const PARAMETER_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'choice',
  'secret',
  'plan',
  'generated',
] as const
export type ParameterType = (typeof PARAMETER_TYPES)[number]

/** Literal segments that the interface has in the place of a slug. */
const RESERVED_SLUGS = ['config', 'catalog', 'deploys', 'sources', 'templates']
const UUID_LIKE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns why a text is not a slug; undefined if it is one. */
export function slugRefusal(slug: string): string | undefined {
  if (!new RegExp(RESOURCE_NAME_PATTERN).test(slug))
    return 'must have 1 to 52 lower-case letters, digits and hyphens and begin and end with a letter or digit'
  if (UUID_LIKE.test(slug)) return 'must not be a uuid'
  return RESERVED_SLUGS.includes(slug) ? 'is reserved for a route of the interface' : undefined
}

const Slug = z.string().superRefine((slug, context) => {
  const message = slugRefusal(slug)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** The characters of the document say nothing about those of its texts: YAML and JSON have escapes for any. */
const shownAs = (shown: ShownText, text = z.string()) => text.refine((given) => isShown(shown, given), shown.message)
const Words = shownAs(SHOWN_NAME, z.string().trim().min(1).max(128))
const Description = shownAs(SHOWN_PROSE, z.string().max(512))
const Name = z
  .string()
  .max(64)
  .regex(/^[a-z][A-Za-z0-9]{0,63}$/, 'must be a lower-case letter and up to 63 letters and digits')
const ComponentName = z
  .string()
  .max(52)
  .regex(/^[a-z][A-Za-z0-9-]{0,51}$/, 'must be a lower-case letter and up to 51 letters, digits and hyphens')

export const TEMPLATE_VERSION_PATTERN =
  /^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z-]{1,32}(\.[0-9A-Za-z-]{1,32}){0,8})?(\+[0-9A-Za-z-]{1,32}(\.[0-9A-Za-z-]{1,32}){0,8})?$/

export const BlueprintParameter = z.strictObject({
  name: Name,
  type: z.enum(PARAMETER_TYPES),
  title: Words.optional(),
  description: Description.optional(),
  default: z.union([z.string().max(4096), z.number(), z.boolean()]).optional(),
  choices: z
    .array(shownAs(SHOWN_LINE, z.string().min(1).max(256)))
    .min(1)
    .max(50)
    .optional(),
  family: z.enum(PLAN_FAMILIES).optional(),
  pattern: z.string().max(256).optional(),
  minLength: z.int().min(0).max(4096).optional(),
  maxLength: z.int().min(1).max(4096).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  length: z.int().min(8).max(128).optional(),
})
export type BlueprintParameter = z.output<typeof BlueprintParameter>

/** The fields that each type of parameter may have beside name, type, title and description. */
export const FIELDS_OF_TYPE: Readonly<Record<ParameterType, readonly (keyof BlueprintParameter)[]>> = {
  string: ['default', 'pattern', 'minLength', 'maxLength'],
  integer: ['default', 'minimum', 'maximum'],
  number: ['default', 'minimum', 'maximum'],
  boolean: ['default'],
  choice: ['default', 'choices'],
  secret: ['minLength', 'maxLength'],
  plan: ['default', 'family'],
  generated: ['length'],
}

export const isSecretParameter = ({ type }: Pick<BlueprintParameter, 'type'>) =>
  type === 'secret' || type === 'generated'

export const TemplateComponent = z.strictObject({
  name: ComponentName,
  collection: z.string().min(1).max(64),
  resourceName: z.string().min(1).max(512),
  dependsOn: z.array(ComponentName).max(30).default([]),
  when: z.string().min(1).max(1024).optional(),
  retain: z.boolean().default(false),
  spec: z.record(z.string(), z.unknown()).default({}),
})
export type TemplateComponent = z.output<typeof TemplateComponent>

export const TemplateOutput = z.strictObject({
  name: Name,
  value: z.string().min(1).max(4096).optional(),
  component: ComponentName.optional(),
  output: z.string().min(1).max(64).optional(),
  secret: z.boolean().default(false),
})
export type TemplateOutput = z.output<typeof TemplateOutput>

/** A blueprint (records: blueprints, template). */
export const Template = z.strictObject({
  format: z.literal(1),
  slug: Slug,
  name: Words,
  version: z.string().max(128).regex(TEMPLATE_VERSION_PATTERN, 'must be a semantic version, such as 1.2.0'),
  description: Description.default(''),
  category: z.enum(BLUEPRINT_CATEGORIES).default('Tools'),
  icon: z
    .string()
    .max(2048)
    .regex(/^([a-z0-9-]{1,64}|https:\/\/[^\s"<>]+)$/, 'must be a name or an https address')
    .optional(),
  parameters: z.array(BlueprintParameter).max(50).default([]),
  components: z.array(TemplateComponent).min(1).max(30),
  outputs: z.array(TemplateOutput).max(50).default([]),
})
export type Template = z.output<typeof Template>

/** Whether a version comes after another one. Loose, since `TEMPLATE_VERSION_PATTERN` accepts leading zeros in a prerelease. */
export function isLaterTemplateVersion(version: string, other: string): boolean {
  return gt(version, other, { loose: true })
}

export const TEMPLATE_PROBLEM_CODES = [
  'Syntax',
  'UnknownField',
  'MissingField',
  'UnknownCollection',
  'UnknownParameter',
  'UnknownComponent',
  'Cycle',
  'BadExpression',
  'SpecInvalid',
  'SecretExposed',
  'DuplicateName',
] as const
export type TemplateProblemCode = (typeof TEMPLATE_PROBLEM_CODES)[number]

/** One thing that is wrong with a template, and where (records: blueprints, TemplateProblem). */
export type TemplateProblem = {
  readonly severity: 'Error' | 'Warning'
  readonly code: TemplateProblemCode
  /** JSON Pointer (RFC 6901). */
  readonly path: string
  readonly line: number | null
  readonly column: number | null
  readonly message: string
}
