// Makes a database in a boundary of its own, waits for it, lists what there is, and takes it away again.
import { createClient, PlatformApiError, waitUntil, waitUntilGone } from '@freehold/client'

const { PLATFORM_URL: baseUrl, PLATFORM_TOKEN: token } = process.env
if (!baseUrl || !token) throw new Error('Set PLATFORM_URL and PLATFORM_TOKEN (freehold token).')
const client = createClient({ baseUrl, token: async () => token })

const { id: boundaryId } = await client.boundaries.create({ body: { displayName: 'Made by a program' } })
const group = { boundaryId, resourceGroupName: 'search' }
const path = { ...group, name: 'products' }
await client.resourceGroups.create({ path: group })
await waitUntil(() => client.resourceGroups.get({ path: group }))

await client.vectorClusters.create({ path, body: { computePlan: 'vector-dev' } })
const { status } = await waitUntil(() => client.vectorClusters.get({ path }))
console.log(`products is ${status}`)

for await (const { name } of client.vectorClusters.listInBoundary({ path: { boundaryId } }))
  console.log(`there is ${name}`)

try {
  await client.vectorClusters.get({ path: { ...path, name: 'nothing' } })
} catch (error) {
  if (!(error instanceof PlatformApiError)) throw error
  console.log(`refused: ${error.code}`)
}

// A group goes with all that is in it, a boundary when nothing is.
await client.resourceGroups.delete({ path: group })
await waitUntilGone(() => client.resourceGroups.get({ path: group }))
await client.boundaries.delete({ path: { boundaryId } })
