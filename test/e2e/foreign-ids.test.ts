import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import {
  call,
  type Method,
  makeBoundary,
  makeCaller,
  makeGroup,
  type TestCaller,
  uniqueName,
} from '../worlds/platform.ts'

type Request = { method: Method; path: string; body?: object }

/** Whatever takes the id of a boundary elsewhere than in its path, asked by the Owner of another one. */
const REQUESTS: Readonly<Record<string, (own: string, id: string, group: string) => Request>> = {
  'a check of access at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/checkAccess`,
    body: { checks: [{ action: 'boundaries/read', scope: `/boundaries/${id}` }] },
  }),
  'a check of access at the scope of its group': (own, id, group) => ({
    method: 'POST',
    path: `${own}/providers/authorization/checkAccess`,
    body: { checks: [{ action: 'vectorcluster/read', scope: `/boundaries/${id}/resourcegroups/${group}` }] },
  }),
  'a deny at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/denyAssignments`,
    body: { principalId: NOBODY, actions: ['boundaries/read'], scope: `/boundaries/${id}` },
  }),
  'a role at its scope': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/roleAssignments`,
    body: { principalId: NOBODY, roleDefinitionName: 'Reader', scope: `/boundaries/${id}` },
  }),
  'a role for a while at its group': (own, id, group) => ({
    method: 'POST',
    path: `${own}/providers/authorization/jitRequests`,
    body: {
      roleDefinitionName: 'Reader',
      scope: `/boundaries/${id}/resourcegroups/${group}`,
      justification: 'an incident',
    },
  }),
  'an invitation to it': (own, id) => ({
    method: 'POST',
    path: `${own}/providers/authorization/invitations`,
    body: { email: 'somebody@example.com', roleDefinitionName: 'Reader', scope: `/boundaries/${id}` },
  }),
  'a trust in it': (own, id) => ({
    method: 'POST',
    path: '/admin/boundary-trusts',
    body: { boundaryId: own.split('/').at(-1), trustedBoundaryId: id, actions: ['boundaries/read'] },
  }),
  'a search for it': (_own, id) => ({ method: 'GET', path: `/boundaries?search=${id}` }),
  'roles at its scope': (own, id) => ({
    method: 'GET',
    path: `${own}/providers/authorization/roleAssignments?filter=scope:eq:/boundaries/${id}`,
  }),
  'trusts of it': (_own, id) => ({ method: 'GET', path: `/admin/boundary-trusts?boundaryId=${id}` }),
  'what is left over in it': (_own, id) => ({
    method: 'GET',
    path: `/resourcegroups/orphaned-grants?boundaryId=${id}`,
  }),
  'a move of it': (own, id) => ({ method: 'POST', path: `${own}/tenant`, body: { tenantId: id } }),
}
const NOBODY = randomUUID()

/** Every answer has ids of its own. */
const sansIds = (text: string) =>
  text.replace(/"(correlationId|traceId|instance|timestamp|evaluatedAt|id)":"[^"]*"/g, '')

describe('ids of others in a body or a query', () => {
  let own: string
  let owner: TestCaller
  let theirs: { id: string; group: string }
  before(async () => {
    own = `/boundaries/${(await makeBoundary()).id}`
    owner = await makeCaller({ Owner: own })
    const { id } = await makeBoundary()
    theirs = { id, group: (await makeGroup(id, uniqueName('theirs'))).name }
  })

  for (const [what, request] of Object.entries(REQUESTS)) {
    it(`are answered like ids that nothing has: ${what}`, async () => {
      const answers = await Promise.all(
        [theirs.id, randomUUID()].map(async (id) => {
          const { method, path, body } = request(own, id, theirs.group)
          const { status, text } = await call(method, path, body, { token: owner.token })
          return { status, text: sansIds(text.replaceAll(id, 'it')) }
        }),
      )
      expect(answers[0]).to.deep.equal(answers[1])
      expect(answers[0]?.status, answers[0]?.text).to.be.below(500)
    })
  }
})
