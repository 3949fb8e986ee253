import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request as send } from 'node:http'
import { expect } from 'chai'
import type { Route } from '../../src/api/http/route.ts'
import { ADDITIONS, ROUTES } from '../../src/api/index.ts'
import { NOTIFY_HEADER } from '../../src/contracts/registry/names.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { type HttpReply, patiently, pauseAfterAnswer } from '../make/patience.ts'
import { expectCall, makeBoundary, makeCaller, makeGroup, ownerToken } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'

type Row = {
  method: string
  path: string
  auth: 'anonymous' | 'authenticated' | 'iam'
  action?: string
  dataAction?: boolean
  scope?: string
}
type Holder = { role: string; at: 'root' | 'boundary'; isDenied?: true }
type Answer = { status: number; code: string | undefined; text: string }

const golden = JSON.parse(readFileSync(new URL('../../src/api/http/interface.json', import.meta.url), 'utf8')) as {
  routes: Row[]
}
/** Additions to the interface follow the same rules, from their own declarations. */
function rowOf({ method, path, authorization, scope }: Route): Row {
  if (authorization.kind !== 'iam') return { method, path, auth: authorization.kind }
  const { action, isData: dataAction } = authorization
  return { method, path, auth: 'iam', action, dataAction, scope: scope ?? 'root' }
}
const rows: readonly Row[] = [...golden.routes, ...ADDITIONS.map(rowOf)]
const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

/** Granted only through assignments at `/`, also if a role contains them (interface section 5). */
const ROOT_ACTIONS = [
  'boundaries/create',
  'boundaries/delete',
  'boundaries/tenant/admin',
  'kernel/clusters/*',
  'lifecycle/*',
  'monitoring/platform/*',
  'registry/*',
  'rbac/boundaryTrusts/admin',
  'rbac/idpBindings/admin',
  'rbac/members/admin',
  'rbac/projector/apply',
]

/** Rows with another rule than the permission at the scope of the path. */
const OTHERWISE: Readonly<Record<string, (holder: Holder) => boolean>> = {
  // Anybody who may read a boundary may read the `config` of the list of boundaries.
  'GET /boundaries/config': ({ role }) => covers(role, 'boundaries/read', false),
}

/** How far a request gets: to the handler, or not into the platform. */
type Verdict = 'served' | '401' | '403'

const matches = (patterns: readonly string[], name: string) =>
  patterns.some((pattern) => new RegExp(`^${pattern.replaceAll('*', '.+')}$`).test(name))

function covers(roleName: string, action: string, isData: boolean): boolean {
  const role = BUILT_IN_ROLES.find(({ displayName }) => displayName === roleName)
  if (role === undefined) throw new Error(`There is no role ${roleName}.`)
  const { actions, notActions, dataActions, notDataActions } = role
  return isData
    ? matches(dataActions, action) && !matches(notDataActions, action)
    : matches(actions, action) && !matches(notActions, action)
}

/** The expectation from the table and the roles, computed without the platform's evaluator. */
function due(row: Row, holder: Holder | undefined): Verdict {
  if (row.auth === 'anonymous' || (row.auth === 'authenticated' && holder !== undefined)) return 'served'
  if (holder === undefined) return '401'
  if (holder.isDenied === true) return '403'
  const otherwise = OTHERWISE[keyOf(row)]
  if (otherwise !== undefined) return otherwise(holder) ? 'served' : '403'
  const { action = '', dataAction = false, scope } = row
  // A missing name has no place, so the permission is checked at the root.
  const isAtRoot = scope === 'root' || !row.path.includes('{boundaryId}')
  const isReached = holder.at === 'root' || (!isAtRoot && !matches(ROOT_ACTIONS, action))
  return isReached && covers(holder.role, action, dataAction) ? 'served' : '403'
}

function verdictOf({ status, code, text }: Answer): Verdict | string {
  // The registry's token endpoint requires other credentials, in its clients' own protocol.
  if (status === 401 && text.startsWith('{"errors":[{"code":"UNAUTHORIZED"')) return 'served'
  // The registry identifies itself by a header of its own.
  if (status === 401 && text.includes(`The header ${NOTIFY_HEADER} is missing`)) return 'served'
  if (status === 401 || status === 403) return String(status)
  // Past authorization: done, refused for the body or the state, missing, or not built yet. Never an internal error.
  const isServed = status < 400 || [400, 404, 406, 409, 422, 501].includes(status)
  return isServed ? 'served' : `${status} ${code}`
}

/** Nothing in a request exists except the boundary and, if needed, the group, so nothing is changed. */
function pathOf({ path }: Row, boundaryId: string, group = 'nothing-here'): string {
  return path.replace(/\{([A-Za-z]+)\}/g, (_whole, name: string) => {
    if (name === 'boundaryId') return boundaryId
    if (name === 'resourceGroupName' || name === 'resourceGroup') return group
    if (name === 'resourceType') return 'vectorclusters'
    if (name === 'action') return 'start'
    if (name === 'path') return 'nothing.md'
    return name.endsWith('Id') ? '99999999-9999-4999-8999-999999999999' : 'nothing-here'
  })
}

/** Requests under way at once: the platform shares the machine with other tests. */
const AT_ONCE = 16
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
/** Refused tokens and anonymous routes count against an address, so each identity uses its own. */
const addresses: Agent[] = []
function anotherAddress(): Agent {
  const from = new Agent({ keepAlive: true, maxSockets: AT_ONCE, localAddress: `127.0.0.${71 + addresses.length}` })
  addresses.push(from)
  return from
}

/** The body is deliberately invalid: it is read after authorization only, and changes nothing. */
async function ask(row: Row, path: string, token: string | undefined, from: Agent): Promise<Answer> {
  const answered = () => answerTo(row, path, token, from)
  const { status, text } = await patiently(answered, (answer) =>
    answer.status === 503 ? pauseAfterAnswer(answer) : undefined,
  )
  return { status, code: codeOf(text), text }
}

function answerTo(row: Row, path: string, token: string | undefined, from: Agent): Promise<HttpReply> {
  const body = row.method === 'GET' || row.method === 'DELETE' ? undefined : '{'
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(body.length) }),
  }
  return new Promise((resolve, reject) => {
    const request = send(`${testPlatform().facadeUrl}${path}`, { method: row.method, headers, agent: from })
    request.once('error', reject)
    request.once('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.once('error', reject)
      response.once('end', () => {
        const after = response.headers['retry-after']
        const known = new Headers(after === undefined ? {} : { 'retry-after': after })
        resolve({ status: response.statusCode ?? 0, headers: known, text: Buffer.concat(parts).toString() })
      })
    })
    request.end(body)
  })
}

function codeOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { code?: string }).code
  } catch {
    return undefined
  }
}

async function overAll(rows: readonly Row[], check: (row: Row) => Promise<string | undefined>): Promise<string[]> {
  const wrong: string[] = []
  const left = [...rows]
  const work = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      const found = await check(row)
      if (found !== undefined) wrong.push(`${keyOf(row)}: ${found}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return wrong
}

const IDENTITIES: Readonly<Record<string, { holder?: Holder; token: 'none' | 'garbage' | 'own' | 'foreign' }>> = {
  'anonymous, without a token': { token: 'none' },
  'anonymous, with an invalid token': { token: 'garbage' },
  'the Owner of another boundary': { token: 'foreign' },
  'a Reader': { token: 'own', holder: { role: 'Reader', at: 'boundary' } },
  'a Contributor': { token: 'own', holder: { role: 'Contributor', at: 'boundary' } },
  'an Owner': { token: 'own', holder: { role: 'Owner', at: 'boundary' } },
  'an Owner who is denied everything': { token: 'own', holder: { role: 'Owner', at: 'boundary', isDenied: true } },
  'a Secrets Reader, who holds a data action': { token: 'own', holder: { role: 'Secrets Reader', at: 'boundary' } },
  'a Platform Reader': { token: 'own', holder: { role: 'Platform Reader', at: 'root' } },
}

/** A token without a signature. */
const GARBAGE = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMTExMTExMS0xMTExLTQxMTEtODExMS0xMTExMTExMTExMTEifQ.'

describe('every route for every identity', () => {
  let boundaryId: string
  let foreignId: string
  let foreignGroup: string
  let foreignOwner: string
  before(async () => {
    boundaryId = (await makeBoundary()).id
    foreignId = (await makeBoundary()).id
    foreignGroup = (await makeGroup(foreignId)).name
    foreignOwner = (await makeCaller({ Owner: `/boundaries/${foreignId}` })).token
  })
  after(() => {
    for (const each of [agent, ...addresses]) each.destroy()
  })

  it('covers every route of the interface', () => {
    expect(golden.routes.map(keyOf).sort()).to.deep.equal(ROUTES.map(keyOf).sort())
  })

  for (const [name, { token: kind, holder }] of Object.entries(IDENTITIES)) {
    it(`answers ${name} as the table defines`, async () => {
      const token = await tokenOf(kind, holder)
      const from = anotherAddress()
      const known = holder ?? (kind === 'foreign' ? { role: 'Owner', at: 'boundary' as const } : undefined)
      let seen = 0
      const wrong = await overAll(rows, async (row) => {
        seen += 1
        const wanted = kind === 'foreign' ? dueAbroad(row) : due(row, known)
        const answer = await ask(row, pathOf(row, boundaryId), token, from)
        const is = verdictOf(answer)
        return is === wanted ? undefined : `${is} instead of ${wanted}. ${answer.text.slice(0, 200)}`
      })
      expect(wrong).to.deep.equal([])
      expect(seen).to.equal(rows.length)
    })
  }

  /**
   * An Owner elsewhere has no rights here; routes that require only a sign-in are answered, without revealing anything.
   */
  function dueAbroad(row: Row): Verdict {
    if (row.auth !== 'iam') return 'served'
    return OTHERWISE[keyOf(row)]?.({ role: 'Owner', at: 'boundary' }) === true ? 'served' : '403'
  }

  async function tokenOf(kind: string, holder: Holder | undefined): Promise<string | undefined> {
    if (kind === 'none') return undefined
    if (kind === 'garbage') return GARBAGE
    if (kind === 'foreign' || holder === undefined) return foreignOwner
    const scope = holder.at === 'root' ? '/' : `/boundaries/${boundaryId}`
    const { principalId, token } = await makeCaller({ [holder.role]: scope })
    if (holder.isDenied === true) {
      const denied = { principalId, actions: ['*'], dataActions: ['*'] }
      await expectCall(201, 'POST', `${scope}/providers/authorization/denyAssignments`, denied)
    }
    return token
  }

  it('answers for foreign boundaries and groups with the same words as for missing ones', async () => {
    const { token } = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    const missingId = randomUUID()
    const inBoundary = rows.filter(({ path, auth }) => path.includes('{boundaryId}') && auth !== 'anonymous')
    expect(inBoundary.length).to.be.greaterThan(250)
    const wrong = await overAll(inBoundary, async (row) => {
      const theirs = await ask(row, pathOf(row, foreignId, foreignGroup), token, agent)
      const missing = await ask(row, pathOf(row, missingId, foreignGroup), token, agent)
      const [is, wanted] = [theirs.text.replaceAll(foreignId, 'it'), missing.text.replaceAll(missingId, 'it')].map(
        sansIds,
      )
      if (theirs.status === missing.status && is === wanted) return undefined
      return `${theirs.status} ${is} instead of ${missing.status} ${wanted}`
    })
    expect(wrong).to.deep.equal([])
  })

  it('lets the first Owner past authorization on all routes', async () => {
    const token = await ownerToken()
    const from = anotherAddress()
    const wrong = await overAll(rows, async (row) => {
      const is = verdictOf(await ask(row, pathOf(row, boundaryId), token, from))
      return is === 'served' ? undefined : is
    })
    expect(wrong).to.deep.equal([])
  })
})

/** Every answer has ids of its own. */
function sansIds(text: string): string {
  return text.replace(/"(correlationId|traceId|instance|timestamp)":"[^"]*"/g, '')
}
