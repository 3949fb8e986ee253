import { expect } from 'chai'
import { SERVED_ROUTES } from '../index.ts'
import type { Route } from './route.ts'
import { statusesOf } from './statuses.ts'
import { expandPath } from './template.ts'

const IAM = '{B}/providers/authorization'
const REQUEST = `${IAM}/jitRequests/{requestId}`
const SECRET = '{RG}/secretvaults/{name}/secrets/{secretName}'
const SNAPSHOTS = '{RG}/relationalclusters/{name}/snapshots'
const DATABASES = ['relationalclusters', 'sqlclusters'].map((segment) => `{RG}/${segment}/{name}`)
const KINDS = ['objectstorageaccounts', 'relationalclusters', 'sqlclusters', 'vectorclusters', 'secretvaults']
const ROWS = 'tables/{schema}/{table}/rows'
const EDITOR = [
  ...['GET schemas', 'POST query', `GET ${ROWS}`, `POST ${ROWS}`],
  ...[`PATCH ${ROWS}/{pkValue}`, `DELETE ${ROWS}/{pkValue}`],
  ...[`POST ${ROWS}:bulk`, `POST ${ROWS}:bulk-delete`, `POST ${ROWS}:bulk-insert`],
].flatMap((line) => DATABASES.map((database) => line.replace(' ', ` ${database}/editor/`)))
const withMethods = (line: string) => {
  const [methods = '', path = ''] = line.split(' ')
  return methods.split(',').map((method) => `${method} ${path}`)
}

/** Refusals that occur in practice, by status. */
const MET: Readonly<Record<number, readonly string[]>> = {
  409: [
    ...['POST /admin/tenants', 'PATCH /admin/tenants/{tenantId}/sso/identity-providers/{alias}'],
    ...['PATCH,DELETE {B}', 'POST {B}/members', 'POST,DELETE {B}/resourcegroups/{resourceGroupName}'],
    ...[`POST ${IAM}/groups`, `PATCH ${IAM}/groups/{groupId}`, `POST ${IAM}/jitRequests`],
    ...[`POST ${REQUEST}/approve`, `POST ${REQUEST}/deny`, `POST ${IAM}/roleAssignments`, `POST ${IAM}/tenant-move`],
    ...KINDS.filter((kind) => kind !== 'sqlclusters').map((kind) => `PUT,PATCH {RG}/${kind}/{name}`),
    'DELETE {RG}/secretvaults/{name}',
    ...[...DATABASES, '{RG}/vectorclusters/{name}'].map((one) => `PUT ${one}/actions/{action}`),
    ...DATABASES.map((one) => `GET ${one}/connectionstring/external`),
    ...EDITOR,
    ...[`POST ${SNAPSHOTS}`, `GET,PUT,DELETE ${SECRET}`, `POST ${SECRET}/purge`, `POST ${SECRET}/recover`],
    ...[`GET ${SECRET}/versions/{version}`, 'POST {RG}/sqlclusters/{name}/license'],
    'POST {RG}/vectorclusters/{name}/apikey/rotate',
    'POST {B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities',
  ],
  422: [
    ...['POST /admin/tenants/{tenantId}/idp-bindings', 'POST {B}/members', 'POST {B}/tenant'],
    ...[`POST ${IAM}/groups`, `PATCH ${IAM}/groups/{groupId}`, `POST ${IAM}/roleAssignments`],
    ...[`POST ${IAM}/tenant-move`, `POST ${SNAPSHOTS}`, `POST ${SNAPSHOTS}/{snapshotId}/restore`],
    ...KINDS.map((kind) => `POST,PUT {RG}/${kind}/{name}`),
    'POST {RG}/sqlclusters/{name}/editor/query',
  ],
  502: EDITOR,
}

/** Parameter names differ between routes. */
const nameless = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')
const routeOf = (line: string): Route => {
  const [method, path = ''] = line.split(' ')
  const found = SERVED_ROUTES.find(
    (route) => route.method === method && nameless(route.path) === nameless(expandPath(path)),
  )
  if (found === undefined) throw new Error(`There is no route ${line}.`)
  return found
}

describe('statusesOf', () => {
  for (const [status, lines] of Object.entries(MET)) {
    for (const line of lines.flatMap(withMethods)) {
      it(`includes ${status}: ${line}`, () => expect(statusesOf(routeOf(line))).to.include(Number(status)))
    }
  }

  const more: [status: number, line: string][] = [
    [410, 'POST /invitations/accept'],
    [416, 'GET {RG}/apps/{appName}/files/download'],
    [501, 'POST {B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities/{resourceUid}/token'],
    [502, 'POST {RG}/objectstorageaccounts/{accountName}/buckets'],
    [502, 'POST /admin/tenants/{tenantId}/sso/identity-providers'],
    [502, 'GET /vaults/{vaultName}/secrets/{name}'],
  ]
  for (const [status, line] of more) {
    it(`includes ${status}: ${line}`, () => expect(statusesOf(routeOf(line))).to.include(status))
  }

  const absent: [status: number, line: string][] = [
    [401, 'POST /invitations/{token}/set-password'],
    [403, 'GET /readyz'],
    [409, 'GET {RG}/vectorclusters'],
    [410, 'GET /invitations/password-policy'],
    [416, 'GET {RG}/vectorclusters'],
    [422, 'GET {B}/resourcegroups'],
    [422, 'DELETE {RG}/vectorclusters/{name}'],
    [501, 'POST {RG}/vectorclusters/{name}'],
    [502, 'PATCH {RG}/vectorclusters/{name}'],
  ]
  for (const [status, line] of absent) {
    it(`excludes ${status}: ${line}`, () => expect(statusesOf(routeOf(line))).to.not.include(status))
  }

  it('includes the declared statuses and 400, 404, 406, 429, 500 and 503, sorted', () => {
    for (const route of SERVED_ROUTES) {
      const statuses = statusesOf(route)
      expect(statuses, route.path).to.include.members([...route.answers, 400, 404, 406, 429, 500, 503])
      expect(statuses, route.path).to.deep.equal([...new Set(statuses)].sort((one, other) => one - other))
    }
  })
})
