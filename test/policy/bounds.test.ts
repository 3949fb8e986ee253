import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { z } from 'zod'
import type { Route } from '../../src/api/http/route.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { UUID_PATTERN } from '../../src/core/names.ts'
import { toRe2Pattern } from '../../src/core/shownText.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { type StructuralSchema, structuralSchema } from '../../src/crds/structural.ts'

/** Routes that write objects of a kind without declaring it, by the end of their paths. */
const WRITES: readonly (readonly [path: RegExp, kind: string])[] = [
  [/^\/boundaries(\/\{boundaryId\}(\/quota|\/tenant)?)?$/, 'Boundary'],
  [/\/crosslink$/, 'BoundaryCrosslink'],
  [/\/resourcegroups\/\{resourceGroupName\}$/, 'ResourceGroup'],
  [/\/members$/, 'RoleAssignment'],
  [/\/jitRequests\/\{jitId\}\/(approve|deny)$/, 'JitRequest'],
  [/\/invitations$/, 'MemberInvitation'],
  [/\/sso\/domains$/, 'PlatformTenant'],
  [/\/identity-providers(\/\{alias\})?$/, 'SsoConnection'],
  [/\/bug-reports$/, 'BugReport'],
  [/^\/clusters(\/\{clusterId\})?$/, 'PlatformCluster'],
  [/\/sources\/.*\/(create|circuit|repositories|materialize)$/, 'DeploymentSource'],
  [/\/blueprints\/templates(\/validate)?$/, 'BlueprintTemplate'],
  [/\/blueprints\/\{slug\}\/deploy$/, 'BlueprintExecution'],
  [/\/restore$/, 'RelationalCluster'],
  [/\/license$/, 'SqlInstance'],
  [/\/secrets\/\{secretName\}$/, 'VaultEntry'],
  [/\/functions\/\{functionName\}$/, 'ServerlessFunction'],
  [/\/sts\/sessions$/, 'ObjectAccessKey'],
  [/\/deployments(\/\{deploymentId\}(\/logs)?)?$|\/(staticwebapps|apps)\/\{\w+\}\/deploy$/, 'DeploymentRecord'],
  [/\/lifecycle\/backups\/(target|target\/test|schedule)$/, 'PlatformBackupSettings'],
]

/** Fields whose bounds may differ, and why. */
const MEANT: Readonly<Record<string, string>> = {
  'RoleAssignment.roleDefinitionName': 'an invalid name is an unknown role, with its own code',
  'MemberInvitation.roleDefinitionName': 'the same',
  'IdpBinding.roleDefinitionName': 'the same',
  'JitRequest.roleDefinitionName': 'the same',
  'MemberInvitation.email': 'spaces around it are removed, and an empty one has its own code',
  'MemberInvitation.scope': 'it has its own code, and is checked after the email address and the role',
  'BlueprintTemplate.content': 'an invalid template is reported as a list of problems, with its own code',
  'BlueprintSource.repositoryUrl': 'an address that is not allowed has its own code',
  'DeploymentSource.baseUrl': 'the same',
  'PlatformCluster.name': 'a record that was read can be sent back; another name is refused',
  'ObjectAccessKey.accountName': 'an account that the group does not have has its own code',
  'ObjectAccessKey.permission': 'a session may read by default',
  'SqlInstance.edition': 'a product key needs a paid edition',
  'RolloutPlan.targetVersions': 'components with null are stored in another field; a rule of the CRD requires one',
}

const BOUNDS = [
  ...['type', 'format', 'enum', 'pattern', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'minProperties', 'maxProperties'],
]

type Schemas = Readonly<Record<string, StructuralSchema>>

/** The constraints of a value itself, without nullability and with references resolved. */
function plain({ $ref, nullable: _, ...said }: StructuralSchema, schemas: Schemas): StructuralSchema {
  const named = typeof $ref === 'string' ? schemas[$ref.split('/').at(-1) ?? ''] : undefined
  if (named !== undefined) return plain({ ...named, ...said }, schemas)
  const [only, ...others] = (said.allOf ?? []) as StructuralSchema[]
  const isWrapper = said.type === undefined && only !== undefined && others.length === 0
  return isWrapper ? plain({ ...only, ...said, allOf: undefined }, schemas) : said
}

/**
 * Bounds in one spelling. REST accepts a UUID in capitals, and writes it in lower case: `Uuid` of `src/crds/fields.ts`.
 */
function boundsOf(schema: StructuralSchema): Record<string, unknown> {
  const bounds = Object.fromEntries([...BOUNDS, 'default'].map((name) => [name, schema[name]]))
  const { format, pattern, minimum, maximum } = bounds
  if (format === 'uuid' || pattern === UUID_PATTERN) Object.assign(bounds, { format: 'uuid', pattern: undefined })
  if (format === 'date-time') bounds.pattern = undefined
  if (typeof bounds.pattern === 'string') bounds.pattern = toRe2Pattern({ pattern: bounds.pattern })
  // Only the CRD says how large an integer can be in other languages.
  if (format === 'int32' || format === 'int64') bounds.format = undefined
  if (minimum === Number.MIN_SAFE_INTEGER) bounds.minimum = undefined
  if (maximum === Number.MAX_SAFE_INTEGER) bounds.maximum = undefined
  return bounds
}

/** The differences between a field of a body and that of its kind, including nested fields. */
function differences(body: StructuralSchema, kind: StructuralSchema, place: string, schemas: Schemas): string[] {
  const value = plain(body, schemas)
  // Computed fields may be sent back and are ignored.
  if (value.readOnly === true) return []
  const [sent, stored] = [boundsOf(value), boundsOf(kind)]
  // If one of them has no bound, the route or the kind supplies it.
  const said = value.default === undefined || kind.default === undefined ? BOUNDS : [...BOUNDS, 'default']
  const own = said.filter((name) => !isDeepStrictEqual(sent[name], stored[name]))
  const told = own.map(
    (name) => `${place} ${name}: REST ${JSON.stringify(sent[name])}, CRD ${JSON.stringify(stored[name])}`,
  )
  const inside = PARTS.flatMap(([name, mark]) => {
    const [part, same] = [value[name], kind[name]]
    if (typeof part !== 'object' || typeof same !== 'object') return []
    return differences(part as StructuralSchema, same as StructuralSchema, place + mark, schemas)
  })
  const fields = Object.entries((value.properties ?? {}) as Schemas).flatMap(([name, part]) => {
    const same = (kind.properties as Schemas | undefined)?.[name]
    return same === undefined ? [] : differences(part, same, `${place}.${name}`, schemas)
  })
  return [...told, ...inside, ...fields]
}

const PARTS = [
  ['items', '[]'],
  ['additionalProperties', '{}'],
] as const

function kindOf(route: Route): AnyKind | undefined {
  const name = route.kind ?? WRITES.find(([path]) => path.test(route.path))?.[1]
  return KINDS.find(({ kind }) => kind === name)
}

/** The bounds in a route's body that differ from those of its kind. */
function differencesOf(route: Route): string[] {
  const [kind, body] = [kindOf(route), route.documentedBody ?? route.body]
  if (kind === undefined || body === undefined || route.bodyKind !== 'json') return []
  const sent = z.toJSONSchema(body, { target: 'openapi-3.0', io: 'input', reused: 'inline', unrepresentable: 'any' })
  const { definitions = {}, ...whole } = sent as StructuralSchema & { definitions?: Schemas }
  const stored = { properties: structuralSchema(kind.spec, kind.kind).properties } as StructuralSchema
  const { properties } = plain(whole, definitions)
  const found = differences({ properties }, stored, kind.kind, definitions)
  // A merge patch may also name a field to remove it.
  return found.filter((difference) => route.method !== 'PATCH' || !difference.includes(' maxProperties'))
}

const fieldOf = (difference: string) => difference.slice(0, difference.indexOf(' '))

describe('bounds of fields', () => {
  it('have only known paths and kinds in WRITES', () => {
    const paths = SERVED_ROUTES.map(({ path }) => path)
    const unknown = WRITES.filter(
      ([path, name]) => !paths.some((each) => path.test(each)) || !KINDS.some(({ kind }) => kind === name),
    )
    expect(unknown.map(String)).to.deep.equal([])
  })

  it('are equal in the schemas of REST and the CRD', () => {
    const found = [...new Set(SERVED_ROUTES.flatMap(differencesOf))]
    expect(found.filter((difference) => !Object.hasOwn(MEANT, fieldOf(difference)))).to.deep.equal([])
  })

  it('differ for every field in MEANT', () => {
    const found = new Set(SERVED_ROUTES.flatMap(differencesOf).map(fieldOf))
    expect(Object.keys(MEANT).filter((name) => !found.has(name))).to.deep.equal([])
  })
})
