import { expect } from 'chai'
import { FUNCTION_RUNTIME_NAMES, FUNCTION_RUNTIMES, newestRuntimeVersion } from '../../contracts/functions.ts'
import type { ServerlessFunction } from '../../crds/functions.ts'
import { prepareFunctionCode } from './functionCode.ts'
import type { RecordPass } from './owners.ts'

const DEPLOYMENT = '5d2f8a52-7a4e-4b52-9a55-0d6c8f3f9b02'
const source = { hash: 'a'.repeat(64), parts: 1, deploymentId: DEPLOYMENT }
const owner = { spec: { namespaceName: 'calls', functionName: 'hello', source } } as ServerlessFunction

/** The build input of a deployment of the function, in a function namespace with the spec. */
const codeIn = (spec: object) => {
  const object = { metadata: { namespace: 'shop', name: DEPLOYMENT }, spec: { ownerName: 'calls.hello' } }
  const records = { cache: () => ({ get: () => ({ spec }) }) }
  const options = { archives: undefined, sourceBlobs: undefined as never, isSimulated: true }
  return prepareFunctionCode(
    { object, records } as unknown as RecordPass,
    owner,
    'boundary/shop/functions/calls',
    options,
  )
}

describe('prepareFunctionCode', () => {
  for (const runtime of FUNCTION_RUNTIME_NAMES) {
    const { server } = FUNCTION_RUNTIMES[runtime]
    if (server === undefined) {
      it(`rejects sources of runtime ${runtime}`, async () => {
        const refused = await codeIn({ runtime }).catch((error: Error) => error.message)
        expect(refused).to.equal(`Sources of functions of runtime ${runtime} cannot be built.`)
      })
    } else {
      it(`adds the server of ${runtime} and builds for the runtime version of the namespace`, async () => {
        const { code, files } = await codeIn({ runtime })
        expect(code).to.include({ runtime, runtimeVersion: newestRuntimeVersion(runtime), startCommand: server.start })
        expect(code.pipeline.buildCommand).to.equal(server.build)
        expect(Object.keys(files)).to.deep.equal(Object.keys(server.files))
        expect((await codeIn({ runtime, runtimeVersion: '1.2' })).code.runtimeVersion).to.equal('1.2')
      })
    }
  }
})
