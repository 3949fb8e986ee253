import { expect } from 'chai'
import { boundaryNamespace } from '../../src/core/names.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { EventStream, type SentEvent } from '../make/eventStream.ts'
import {
  call,
  expectCall,
  type GroupPlace,
  makeCaller,
  makeGroupPlace,
  ownerToken,
  type TestCaller,
  uniqueName,
} from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

/** One list of each kind of declaration: resources of a group and of a boundary, all kinds of a group, a collection. */
const LISTS: {
  what: string
  list: (place: GroupPlace) => string
  one: (place: GroupPlace, name: string) => string
  body?: object
}[] = [
  {
    what: 'resources of a group',
    list: ({ resources }) => resources('vectorclusters'),
    one: ({ resources }, name) => `${resources('vectorclusters')}/${name}`,
    body: { computePlan: 'vector-dev', replicas: 1 },
  },
  {
    what: 'resources of a boundary',
    list: ({ boundaryId }) => `/boundaries/${boundaryId}/resources/secretvaults`,
    one: ({ resources }, name) => `${resources('secretvaults')}/${name}`,
    body: {},
  },
  {
    what: 'all resources of a group',
    list: ({ resources }) => resources('').replace(/\/$/, ''),
    one: ({ resources }, name) => `${resources('vectorclusters')}/${name}`,
    body: { computePlan: 'vector-dev', replicas: 1 },
  },
  {
    what: 'resource groups',
    list: ({ boundaryId }) => `/boundaries/${boundaryId}/resourcegroups`,
    one: ({ boundaryId }, name) => `/boundaries/${boundaryId}/resourcegroups/${name}`,
  },
]

describe('lists as event streams', () => {
  let place: GroupPlace
  const streams: EventStream[] = []
  before(async () => {
    place = await makeGroupPlace()
  })
  after(() => {
    for (const stream of streams) stream.close()
  })
  const follow = async (path: string, token: string) => {
    const url = `${testPlatform().facadeUrl}${path}`
    const stream = await EventStream.open(url, { authorization: `Bearer ${token}` })
    streams.push(stream)
    expect(stream.response.status, path).to.equal(200)
    return stream
  }

  for (const { what, list, one, body } of LISTS) {
    it(`sends additions and deletions in a list of ${what}`, async () => {
      const name = uniqueName('followed')
      const aboutIt = ({ data }: SentEvent) => data.name === name
      const stream = await follow(list(place), await ownerToken())
      const before = await stream.until('bookmark')
      expect(before.some(aboutIt)).to.equal(false)
      await expectCall(201, 'POST', one(place, name), body)
      const events: SentEvent[] = []
      while (!events.some((event) => event.event === 'added' && aboutIt(event)))
        events.push(...(await stream.until('added')))
      const { status } = await call('DELETE', one(place, name))
      expect(status).to.be.oneOf([202, 204])
      let deletion: SentEvent | undefined
      while (deletion === undefined) deletion = (await stream.until('deleted')).filter(aboutIt).find(isDeletion)
      expect(Object.keys(deletion.data)).to.include.members(['id', 'name'])
      stream.close()
    })
  }

  it('ends with FORBIDDEN when the role of its reader is removed', async () => {
    const boundary = `/boundaries/${place.boundaryId}`
    const reader: TestCaller = await makeCaller({ Reader: boundary })
    const stream = await follow(place.resources('vectorclusters'), reader.token)
    await stream.until('bookmark')
    const admin = await administrator()
    try {
      const namespace = boundaryNamespace(place.boundaryId)
      const { items } = await admin.list(RoleAssignment.resource, { namespace })
      const own = (items as unknown as RoleAssignment[]).filter(({ spec }) => spec.principalId === reader.principalId)
      for (const { metadata } of own as unknown as { metadata: { name: string } }[])
        await admin.remove(RoleAssignment.resource, { namespace, name: metadata.name })
    } finally {
      await admin.close()
    }
    expect((await stream.until('closed')).at(-1)?.data.code).to.equal('FORBIDDEN')
    expect(await stream.next()).to.equal(undefined)
  })
})

const isDeletion = ({ event }: SentEvent) => event === 'deleted'
