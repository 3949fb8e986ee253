import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { BOUNDARY_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { validatingWebhookConfiguration } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { TEST_CONFIG } from '../config.ts'
import { makeBoundary, makeCaller } from '../worlds/platform.ts'
import { administrator, clientWithToken, testPlatform } from '../worlds/tenant.ts'

/** Milliseconds. */
const SLOW = 400
const ROUNDS = TEST_CONFIG.sized(4, 100)

/**
 * Another webhook of the cluster, as many have: a write waits for the slowest after the platform's own has answered.
 */
async function startSlowWebhook(): Promise<{ server: Server; url: string }> {
  const { git } = testPlatform()
  const server = createServer(
    { cert: await readFile(git.certificate), key: await readFile(git.key) },
    (request, response) => {
      void text(request).then((body) => {
        const { uid } = (JSON.parse(body) as { request: { uid: string } }).request
        const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } }
        // The duration of the write, which no condition shows.
        setTimeout(() => response.end(JSON.stringify(answer)), SLOW)
      })
    },
  )
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

async function slowConfiguration(url: string, boundaryId: string): Promise<KubeObject> {
  const caBundle = (await readFile(testPlatform().certificateAuthority)).toString('base64')
  const { group, plural } = RoleAssignment.resource
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: `slow-${boundaryId}` },
    webhooks: [
      {
        name: 'slow.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url, caBundle },
        rules: [{ apiGroups: [group], apiVersions: ['*'], resources: [plural], operations: ['DELETE'] }],
        namespaceSelector: { matchLabels: { [BOUNDARY_LABEL]: boundaryId } },
      },
    ],
  } as KubeObject
}

describe('the last two Owners of a boundary', () => {
  let admin: KubeClient
  let clients: KubeClient[] = []
  let boundaryId: string
  let ids: string[]
  let slow: Awaited<ReturnType<typeof startSlowWebhook>>
  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    ids = await Promise.all([1, 2].map(async () => (await makeCaller()).principalId))
    const { token } = await makeCaller({ 'Platform Owner': '/' })
    clients = await Promise.all([1, 2].map(() => clientWithToken(token)))
    for (const { metadata } of await owners()) await admin.remove(RoleAssignment.resource, metadata, {})
    slow = await startSlowWebhook()
    await admin.create(validatingWebhookConfiguration, await slowConfiguration(slow.url, boundaryId))
  })
  after(async () => {
    await admin.remove(validatingWebhookConfiguration, { name: `slow-${boundaryId}` }, {})
    slow.server.close()
    await Promise.all([admin, ...clients].map((client) => client.close()))
  })

  async function owners(): Promise<RoleAssignment[]> {
    const namespace = boundaryNamespace(boundaryId)
    const { items } = await admin.list<RoleAssignment>(RoleAssignment.resource, { namespace })
    return items.filter(({ spec }) => spec.roleDefinitionName === 'Owner')
  }

  const assign = (principalId: string) =>
    admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { namespace: boundaryNamespace(boundaryId), name: randomUUID() },
      spec: {
        principalId,
        principalType: 'ServicePrincipal',
        roleDefinitionName: 'Owner',
        scope: `/boundaries/${boundaryId}`,
      },
    } as KubeObject)

  it('are not both removed by two concurrent deletions with kubectl', async () => {
    const outcomes: string[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const made = await Promise.all(ids.map(assign))
      const removals = await Promise.allSettled(
        made.map(({ metadata }, index) => clients[index]?.remove(RoleAssignment.resource, metadata, {})),
      )
      const refused = removals.filter(({ status }) => status === 'rejected').length
      const left = await owners()
      outcomes.push(`${refused} refused, ${left.length} left`)
      for (const { metadata } of left) await admin.remove(RoleAssignment.resource, metadata, {})
    }
    expect(outcomes).to.deep.equal(Array(ROUNDS).fill('1 refused, 1 left'))
  })
})
