import { z } from 'zod'
import { QUANTITY_PATTERN } from '../../core/quantity.ts'
import { ResourceName } from '../../crds/fields.ts'
import { TAG_KEY } from '../../crds/tags.ts'
import {
  FILTER_MAX_LENGTH,
  FILTERS_MAX,
  type FieldType,
  filtersOf,
  type ListField,
  operatorsOf,
  PAGE_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  SEARCH_MAX_LENGTH,
  sortsOf,
} from '../resources/paging.ts'
import { honoursIfMatch, type Route } from './route.ts'
import { templateSegments } from './template.ts'

/** Descriptions of path parameters by name: a name means the same in every path. */

const id = (what: string) => z.guid().describe(`Id of the ${what}`)
const name = (what: string) => z.string().describe(`Name of the ${what}`)
const number = (what: string) => z.int().min(1).describe(`Number of the ${what}`)

const GROUP = ResourceName.describe('Name of the resource group')

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  accountName: name('object storage account'),
  action: z.enum(['start', 'stop', 'restart']).describe('What to do'),
  alias: name('identity provider'),
  appName: name('app'),
  assignmentId: id('role assignment of the member'),
  bindingId: id('binding'),
  blueprintId: z.string().describe('Id or slug of the blueprint'),
  boundaryId: id('boundary'),
  bucketName: name('bucket'),
  clusterId: id('cluster'),
  component: name('component'),
  crateId: z.string().describe('Id of the crate, as the list of crates shows it'),
  denyId: id('denial or deny assignment'),
  deploymentId: id('deployment'),
  deploymentSourceId: id('deployment source'),
  executionId: id('execution'),
  from: number('revision to compare with'),
  functionName: name('function'),
  groupId: id('group'),
  installId: id('installation'),
  installationId: z.string().describe('Id of the installation at the Git host'),
  invitationId: id('invitation'),
  jitId: id('request for a role'),
  jobName: name('job'),
  keyId: id('access key'),
  managedIdentityId: id('managed identity'),
  module: name('module'),
  name: z.string().describe('Name in the collection before it'),
  namespaceName: name('function namespace, or of the namespace of Kubernetes'),
  number: number('revision'),
  path: z.string().describe('Path of the file'),
  pkValue: z.string().describe('Value of the primary key'),
  planId: id('plan'),
  projectionId: id('projection'),
  repositoryId: z.string().describe('Id of the repository at the Git host'),
  resourceGroup: GROUP,
  resourceGroupName: GROUP,
  resourceId: z.string().describe('Name of the plan'),
  resourceName: name('resource'),
  resourceType: z.string().describe('The collection of the resource, such as vectorclusters'),
  resourceUid: z.string().describe('UID of the workload in Kubernetes'),
  schema: name('schema'),
  secretName: name('secret'),
  slug: z.string().describe('Slug of the blueprint'),
  snapshotId: id('snapshot'),
  snapshotName: name('snapshot'),
  sourceId: id('catalog source'),
  sourceName: z.string().describe('Type of the deployment source, such as git'),
  table: name('table'),
  tenantId: id('tenant'),
  to: number('revision that is compared'),
  token: z.string().describe('The secret part of the link'),
  trustId: id('trust'),
  userId: id('person or service account'),
  vaultName: name('secret vault, which is unique on the platform'),
  version: number('version'),
}

/** @throws TypeError for a parameter that is not described */
function pathParameter(parameter: string, isOpaque: boolean): z.ZodType {
  const known = PARAMETERS[parameter]
  if (known === undefined) throw new TypeError(`The parameter ${parameter} of a path is not described.`)
  return isOpaque ? known.describe(`${known.description}: any text, percent-encoded`) : known
}

export function parametersOf(route: Route, path: string) {
  return { path: pathParameters(route, path), query: queryParameters(route), header: headers(route) }
}

function pathParameters({ opaque, naming }: Route, path: string): z.ZodObject {
  const names = templateSegments(path).flatMap(({ kind, text }) => (kind === 'literal' ? [] : [text]))
  const schemas = names.map((name): [string, z.ZodType] => [name, pathParameter(name, opaque.includes(name))])
  const [last, what] = schemas.at(-1) ?? []
  if (last === undefined || naming === undefined) return z.object(Object.fromEntries(schemas))
  const named = z.string().regex(new RegExp(naming.pattern)).describe(`${what?.description}; it ${naming.rule}`)
  return z.object({ ...Object.fromEntries(schemas), [last]: named })
}

const CONDITION = {
  'If-Match': z.string().optional().describe('The ETag that was read; 409 if it has changed since'),
}
const RANGE = { Range: z.string().optional().describe('One range of bytes, such as bytes=0-1023') }

/** If-Match for conditional writes, and Range for parts of an answer. */
function headers(route: Route): z.ZodObject {
  return z.object({ ...(honoursIfMatch(route) && CONDITION), ...(route.answers.includes(206) && RANGE) })
}

function queryParameters(route: Route): z.ZodObject {
  const own = Object.entries(route.query?.shape ?? {}).map(([name, schema]) => [name, withoutEmptyList(schema)])
  return z.object({ ...Object.fromEntries(own), ...listParameters(route) })
}

/** Documents a repeatable parameter as optional: no generator can write an empty list as a default. */
function withoutEmptyList(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodDefault && schema.unwrap() instanceof z.ZodArray)) return schema
  return (schema.unwrap() as z.ZodArray).optional().describe(schema.description ?? '')
}

function listParameters({ list }: Route): Record<string, z.ZodType> {
  if (list === undefined) return {}
  const sizeUpTo = (max: number) => z.int().min(1).max(max).optional()
  const first = sizeUpTo(list.limitMax ?? PAGE_SIZE_MAX).describe('The page size of the first page')
  const limit = list.limitName === undefined ? {} : { [list.limitName]: first }
  return {
    page: z.int().min(1).max(PAGE_MAX).optional().describe('The first page is 1'),
    pageSize: sizeUpTo(PAGE_SIZE_MAX).describe(`${list.pageSizeDefault ?? PAGE_SIZE_DEFAULT} when absent`),
    search: z
      .string()
      .min(1)
      .max(SEARCH_MAX_LENGTH)
      .optional()
      .describe('Text that the record must contain, in upper or lower case'),
    sort: z
      .enum(sortsOf(list).flatMap((field) => [field, `-${field}`]))
      .optional()
      .describe('Texts are ordered without regard to case; a leading - reverses the order'),
    filter: z
      .array(z.string().max(FILTER_MAX_LENGTH).regex(filterPattern(list)))
      .max(FILTERS_MAX)
      .optional()
      .describe(
        'field:operator:value; may be given several times, all must hold. eq, ne and in compare texts exactly; words of an enumeration, and the other operators, without regard to case',
      ),
    ...limit,
  }
}

/** The values of a filter, by the type of its field; of a text, all. */
const VALUE_PATTERNS: Readonly<Partial<Record<FieldType, string>>> = {
  number: '-?[0-9]{1,15}([.][0-9]{1,9})?',
  dateTime:
    '[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])',
  boolean: '(true|false)',
  quantity: QUANTITY_PATTERN.replaceAll(/[$^]/g, ''),
}

type Listed = Readonly<Record<string, Partial<ListField<never>>>>

/** Fields with the same values share a part of the pattern. */
function filterPattern(list: NonNullable<Route['list']>): RegExp {
  const fields = list.fields as Listed
  const parts = Map.groupBy(filtersOf(list), (field) => {
    const { type = 'text', values } = fields[field] ?? {}
    return `:${ruleOf(type, values)}`
  })
  const namesOf = (some: readonly string[]) =>
    `(${some.map((field) => field.replaceAll('.', '\\.').replace('*', TAG_KEY)).join('|')})`
  const rules = [...parts].map(([rule, some]) => namesOf(some) + rule)
  return new RegExp(`^(${[`${namesOf(filtersOf(list))}:exists:(true|false)$`, ...rules].join('|')})`)
}

/** Operator and value; the values of `in` are separated by commas. */
function ruleOf(type: FieldType, values: readonly string[] | undefined): string {
  const operators = operatorsOf(type).filter((operator) => operator !== 'exists')
  const value = values === undefined ? VALUE_PATTERNS[type] : `(${values.join('|')})`
  if (value === undefined) return `(${operators.join('|')}):`
  const single = operators.filter((operator) => operator !== 'in').join('|')
  return operators.includes('in') ? `((${single}):${value}|in:${value}(,${value})*)$` : `(${single}):${value}$`
}
