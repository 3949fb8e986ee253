import { z } from 'zod'
import { ADDRESS_MAX_LENGTH, ADDRESS_PATTERN } from '../core/address.ts'
import { RESOURCE_NAME_MAX_LENGTH, RESOURCE_NAME_PATTERN } from '../core/names.ts'
import { PROSE, PROSE_MESSAGE } from '../core/prose.ts'
import { compareQuantities, isQuantity, parseQuantity, QUANTITY_PATTERN } from '../core/quantity.ts'
import { SCOPE_MAX_LENGTH, SCOPE_PATTERN } from '../core/scope.ts'
import { SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE, type ShownText, toRe2Pattern } from '../core/shownText.ts'

/** Field types that kinds share. Patterns are RE2, because the API server runs them too. */

/** Adds rules to a field beyond its pattern: the API server evaluates `cel` over `self`, the facade runs `test`. */
export function withCelRules<Schema extends z.ZodString>(
  schema: Schema,
  ...rules: readonly { cel: string; message: string; test: (text: string) => boolean }[]
): Schema {
  const checked = rules.reduce((result, { test, message }) => result.refine(test, { message, abort: true }), schema)
  const validations = rules.map(({ cel, message }) => ({ rule: cel, message, reason: 'FieldValueInvalid' }))
  return checked.meta({ ...schema.meta(), 'x-kubernetes-validations': validations })
}

export const Off = z.boolean().default(false)
export const On = z.boolean().default(true)

export const integerBetween = (min: number, max: number) => z.int().min(min).max(max)

/** A text of at most `maxLength` characters that matches the pattern. */
export const matching = (maxLength: number, pattern: RegExp, message?: Parameters<z.ZodString['regex']>[1]) =>
  z.string().max(maxLength).regex(pattern, message)

/** RFC 9562 in either case; stored in lower case, because two spellings of one id would be two keys. */
export const Uuid = z.string().max(36).toLowerCase().guid()

export const ResourceName = matching(
  RESOURCE_NAME_MAX_LENGTH,
  new RegExp(RESOURCE_NAME_PATTERN),
  `must be 1 to ${RESOURCE_NAME_MAX_LENGTH} lower-case letters, digits and hyphens that begin and end with a letter or digit`,
)

/** A DNS label (RFC 1123), as namespaces are named. */
export const dnsLabel = (maxLength: number) =>
  matching(
    maxLength,
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens that begin and end with a letter or digit',
  )
export const DnsLabel = dnsLabel(63)

/** Name of an object in Kubernetes, as most types allow it. */
export const ObjectName = matching(
  253,
  /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
  'must be lower-case letters, digits, hyphens and dots that begin and end with a letter or digit',
)

/** A quantity between two bounds, which are quantities themselves; without a lower one, more than zero. */
function quantity(min: string | undefined, max: string, message: string): z.ZodString {
  return withCelRules(z.string(message).max(32).regex(new RegExp(QUANTITY_PATTERN), message), {
    cel: `!isQuantity(self) || (quantity(self).compareTo(quantity('${min ?? '1n'}')) >= 0 && quantity(self).compareTo(quantity('${max}')) <= 0)`,
    message,
    test: (text) =>
      !isQuantity(text) ||
      ((min === undefined ? parseQuantity(text) > 0n : compareQuantities(text, min) >= 0) &&
        compareQuantities(text, max) <= 0),
  })
}

/** Cores of a container; zero would mean that there is no limit at all. */
export const Cores = quantity(
  undefined,
  '100k',
  'must be a quantity of cores, more than 0 and at most 100k, such as 500m or 2',
)
export const Bytes = quantity('1Mi', '1Ei', 'must be a quantity of bytes from 1Mi to 1Ei, such as 512Mi or 20Gi')

const QuotaCores = quantity('0', '1G', 'must be a quantity of cores from 0 to 1G, such as 500m or 64')
const QuotaBytes = quantity('0', '1Ei', 'must be a quantity of bytes from 0 to 1Ei, such as 64Gi')

/**
 * Refuses the control characters C0 and C1 (Unicode, 23.1), and those that change the direction of the following text
 * (UAX #9: embeddings, overrides and isolates), with which a text can look different from what it says.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the pattern refuses.
const NO_CONTROLS = /^[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the pattern refuses.
const TRIMMED = /^[^ \x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^ \x00-\x1f\x7f-\x9f])?$/
const TRIMMED_MESSAGE = 'must have no space at either end and no control characters'

/** Text for programs, or that people choose for themselves; text that others are shown is a `ShownLine`. */
export const PlainText = z.string().regex(NO_CONTROLS, 'must have no control characters')

/**
 * Requirements for texts that people are shown. The API server checks them on each write, but accepts a value that the
 * object already has. So does the facade, but only once it has read the object, which is after it has parsed the body.
 */
export const SHOWN_TEXTS = z.registry<{ readonly shown: ShownText }>()

function withShownRule(shown: ShownText, schema: z.ZodString): z.ZodString {
  const rule = `self.matches(r'${toRe2Pattern(shown)}')`
  const validations = [{ rule, message: shown.message, reason: 'FieldValueInvalid' }]
  return schema.meta({ ...schema.meta(), 'x-kubernetes-validations': validations }).register(SHOWN_TEXTS, { shown })
}

/** Trims spaces of any width at the ends. A text of wide spaces only is kept, and refused as by the API server. */
const trimmed = (text: string) => text.trim() || text.replaceAll(/^ +| +$/g, '')
const Named = z.string().overwrite(trimmed).min(1).max(128).regex(TRIMMED, TRIMMED_MESSAGE)

/** Display names, 1 to 128 characters. REST trims spaces at the ends, the API server refuses them. */
export const DisplayName = withShownRule(SHOWN_NAME, Named).describe(
  'A name for people, 1 to 128 characters without spaces at either end',
)

/** The display name of another object, as it is stored there. */
export const StoredDisplayName = Named

/** A part of a person's name. */
export const PersonName = withShownRule(SHOWN_NAME, Named).max(64)

/** A title or a description of one line. */
export const ShownLine = withShownRule(SHOWN_LINE, PlainText)

/** Text of several lines. */
export const Prose = z.string().regex(PROSE, PROSE_MESSAGE)

/** Text of several lines that people are shown. */
export const ShownProse = withShownRule(SHOWN_PROSE, Prose)

export const Description = ShownProse.max(512).describe('Purpose, as a text for people')

/** A map of at most `maxEntries` names. REST accepts none of the refused names, so they must not be stored either. */
export function mapOf<Value extends z.ZodType>(value: Value, maxEntries: number): z.ZodRecord<z.ZodString, Value> {
  const isSmall = (map: object) => Object.keys(map).length <= maxEntries
  const isPlain = (map: object) => Object.keys(map).every((name) => NO_CONTROLS.test(name))
  const plain = 'must have no control characters in its keys'
  const validations = [
    { rule: "!('__proto__' in self)", message: 'must not have the name __proto__' },
    {
      rule: String.raw`self.all(k, !k.matches(r'[\x00-\x1f\x7f-\x9f\x{202a}-\x{202e}\x{2066}-\x{2069}]'))`,
      message: plain,
    },
  ]
  return z
    .record(z.string(), value)
    .refine(isSmall, `must have at most ${maxEntries} names`)
    .refine(isPlain, plain)
    .meta({ maxProperties: maxEntries, 'x-kubernetes-validations': validations })
}

/** For a list of records: the API server merges items by this field, and accepts unchanged values of an item. */
export const listMapMeta = (key: string) => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
})

/** A list of at most `maxItems` records, which the API server merges by the field that identifies them. */
export function listMapOf<Value extends z.ZodType>(key: string, value: Value, maxItems: number): z.ZodArray<Value> {
  const isUnique = (list: z.output<Value>[]) =>
    new Set(list.map((item) => (item as Record<string, unknown>)[key])).size === list.length
  return z.array(value).max(maxItems).refine(isUnique, `must not have the same ${key} twice`).meta(listMapMeta(key))
}

/** A list of at most so many texts, none of them twice. */
export function listSetOf<Value extends z.ZodString>(value: Value, maxItems: number): z.ZodArray<Value> {
  const isUnique = (list: string[]) => new Set(list).size === list.length
  return z
    .array(value)
    .max(maxItems)
    .refine(isUnique, 'must not have the same text twice')
    .meta({ 'x-kubernetes-list-type': 'set' })
}

/** At most 50 pairs that people choose; kept in the spec and not as labels, which have stricter rules. */
export const Tags = mapOf(PlainText.max(256), 50).describe(
  'Key-value pairs to find resources by, at most 50; nothing else depends on them',
)

/** Limits over everything in a boundary or group; an absent one is unlimited. */
export const Quota = z.strictObject({
  cpu: QuotaCores.optional().describe('Maximum CPU requests of everything that runs, in cores; unlimited when absent'),
  memory: QuotaBytes.optional().describe(
    'Maximum memory requests of everything that runs, such as 64Gi; unlimited when absent',
  ),
  storage: QuotaBytes.optional().describe(
    'Maximum storage of all volumes, those of stopped resources included, and of Ephemeral ones of copies that run; unlimited when absent',
  ),
  resourceGroups: integerBetween(0, 100000)
    .optional()
    .describe('Maximum number of resource groups; unlimited when absent'),
  resources: integerBetween(0, 1000000)
    .optional()
    .describe('Maximum number of resources of all kinds; unlimited when absent'),
  pods: integerBetween(0, 1000000)
    .optional()
    .describe('Maximum number of replicas that run at once; unlimited when absent'),
})

/** A scope as IAM writes it, limited to what `core/scope` can read. */
export const Scope = matching(
  SCOPE_MAX_LENGTH,
  new RegExp(SCOPE_PATTERN),
  'must be a scope, such as / or /boundaries/<id>/resourcegroups/<group>',
).describe('Scope where it applies, with everything below: /, a boundary, a resource group or a resource; immutable')

export const Email = z.string().regex(new RegExp(ADDRESS_PATTERN), 'must be an e-mail address').max(ADDRESS_MAX_LENGTH)

export const PrincipalType = z
  .enum(['User', 'Group', 'ServicePrincipal'])
  .describe('User is a person, Group a PrincipalGroup, ServicePrincipal a service account; immutable')

/** RFC 3339 date and time. */
export const DateTime = z.iso.datetime({ offset: true }).max(40)

/** For kinds whose secrets are in the platform's own namespace, which the controllers may not read. */
export const MissingSecrets = z
  .array(z.string())
  .max(20)
  .optional()
  .describe('Secrets named by the spec that are missing or have no client-secret; absent if there are none')

/** PEM certificates; their content is parsed where they are used. */
export const CertificatesPem = z
  .string()
  .regex(/^(-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/, 'must be certificates in PEM')

export const RelativePath = matching(
  255,
  /^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*(\/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)*$/,
  'must be a relative path of plain names',
)
export const MountPath = matching(
  255,
  /^(\/[A-Za-z0-9._@+-]*[A-Za-z0-9_@+-])+$/,
  'must be an absolute path of plain names, such as /var/lib/site',
)
