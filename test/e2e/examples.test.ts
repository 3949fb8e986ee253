import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { noDrift } from '../make/drift.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { testPlatform } from '../worlds/tenant.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const NAMESPACE = 'search-4850a07928'

describe('examples, step by step as in their README', () => {
  const examples = join(import.meta.dirname, '../../examples')
  const kubectl = async (...words: string[]) => (await runKubectl(words)).trim()

  it('start a vector database of three ready peers', async () => {
    await kubectl('apply', '-f', join(examples, '10-boundary'))
    await kubectl('wait', '--for=condition=Ready', `boundary/${BOUNDARY}`, '--timeout=2m')
    await kubectl('apply', '-f', join(examples, '20-group'))
    await kubectl(
      'wait',
      '--for=condition=Ready',
      'resourcegroup',
      '--all',
      '-n',
      `boundary-${BOUNDARY}`,
      '--timeout=2m',
    )
    await kubectl('apply', '-f', join(examples, '30-vector'))
    await kubectl('wait', '--for=condition=Ready', 'vectorcluster', '--all', '-n', NAMESPACE, '--timeout=2m')
    const ready = await kubectl('-n', NAMESPACE, 'get', 'vc', 'products', '-o', 'jsonpath={.status.readyReplicas}')
    expect(ready).to.equal('3')
  })

  it('store a secret in a vault, and sync it to a Secret for workloads', async () => {
    await kubectl('apply', '-f', join(examples, '40-vault'))
    await kubectl('wait', '--for=condition=Ready', 'svault,vent', '--all', '-n', NAMESPACE, '--timeout=2m')
    const get = (...args: string[]) => kubectl('-n', NAMESPACE, 'get', 'secret', ...args)
    const mounted = await get('database-password', '-o', 'jsonpath={.data.password}')
    expect(Buffer.from(mounted, 'base64').toString()).to.equal('change-me')
  })

  it('start a relational database of two instances', async () => {
    await kubectl('apply', '-f', join(examples, '40-relational'))
    await kubectl('wait', '--for=condition=Ready', 'relationalcluster', '--all', '-n', NAMESPACE, '--timeout=2m')
    const ready = await kubectl('-n', NAMESPACE, 'get', 'relc', 'orders', '-o', 'jsonpath={.status.readyReplicas}')
    expect(ready).to.equal('2')
  })

  it('create a bucket and its access key, if there is an object store', async function () {
    if (testPlatform().store === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    await kubectl('apply', '-f', join(examples, '50-objectstorage'))
    const kinds = 'objectstorageaccount,accountbucket,objectaccesskey'
    await kubectl('wait', '--for=condition=Ready', kinds, '--all', '-n', NAMESPACE, '--timeout=2m')
    const name = await kubectl('-n', NAMESPACE, 'get', 'oak', 'photos-uploader', '-o', 'jsonpath={.status.secretName}')
    expect(name).to.equal('oak-photos-uploader-key')
    const columns = await kubectl('-n', NAMESPACE, 'get', 'accountbuckets,objectaccesskeys,objectstorageaccounts')
    for (const title of ['BUCKETS', 'OBJECTS', 'PERMISSION', 'STATE']) expect(columns).to.contain(title)
  })

  it('change nothing when they are applied again', async () => {
    const isPossible = (step: string) => !step.includes('objectstorage') || testPlatform().store !== undefined
    const steps = (await readdir(examples)).filter((name) => /^\d/.test(name) && isPossible(name)).sort()
    const files = steps.flatMap((step) => ['-f', join(examples, step)])
    await kubectl('apply', ...files)
    const lines = (await kubectl('apply', ...files)).split('\n')
    expect(lines.length).to.be.at.least(steps.length)
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).to.deep.equal([])
    await noDrift(kubectl, ...files)
  })

  it('write the API key to the Secret that the README names', async () => {
    const encoded = await kubectl(
      '-n',
      NAMESPACE,
      'get',
      'secret',
      'vc-products-apikey',
      '-o',
      'jsonpath={.data.api-key}',
    )
    expect(Buffer.from(encoded, 'base64').toString()).to.match(/^[A-Za-z0-9_-]{43}$/)
  })
})
