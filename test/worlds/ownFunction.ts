import { expect } from 'chai'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callOwn } from './ownFacade.ts'

/** One request of the first Owner, which must be answered with this status; 503 is retried unless it is expected. Returns the body. */
export async function callOwnFor<Body = ReturnType<typeof JSON.parse>>(
  own: OwnPlatform,
  expected: number,
  method: string,
  path: string,
  body?: object,
): Promise<Body> {
  const answer = await callOwn<Body>(own, method, path, body, { isPatient: expected !== 503 })
  expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(expected)
  return answer.body
}

/**
 * Creates the function `hello` with an image in a boundary of its own, and waits until it has a host.
 *
 * @param spec of the function, with its triggers
 * @returns its path in the facade, the host of its namespace, and the reference of its object
 */
export async function createOwnFunction(own: OwnPlatform, displayName: string, spec: object) {
  const boundary = await until('a boundary may be made', () =>
    callOwnFor<{ id: string }>(own, 201, 'POST', '/boundaries', { displayName }),
  )
  const group = `/boundaries/${boundary.id}/resourcegroups/shop`
  await callOwnFor(own, 201, 'POST', group)
  const home = `${group}/resources/functionnamespaces/home`
  await until('the group takes resources', async () => {
    await callOwnFor(own, 201, 'POST', home, { runtime: 'nodejs' })
    return true
  })
  const path = `${home}/functions/hello`
  await callOwnFor(own, 201, 'POST', path, { handler: 'index', ...spec })
  const namespace = groupNamespace(boundary.id, 'shop')
  const ref = { namespace, name: functionObjectName('home', 'hello') }
  await own.admin.mergePatch(ServerlessFunction.resource, ref, { spec: { image: 'docker.io/library/hello:1' } })
  const host = await until('it has a host', async () => {
    const { status } = await own.admin.get(FunctionNamespace.resource, { namespace, name: 'home' })
    return (status as FunctionNamespace['status'])?.publicHost
  })
  return { path, host, ref }
}
