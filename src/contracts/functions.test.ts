import { expect } from 'chai'
import { runtimeNamed } from './builds/runtimes.ts'
import { FUNCTION_RUNTIME_NAMES, FUNCTION_RUNTIMES } from './functions.ts'

describe('FUNCTION_RUNTIMES', () => {
  for (const name of FUNCTION_RUNTIME_NAMES.filter((name) => FUNCTION_RUNTIMES[name].server !== undefined))
    it(`offers only versions that can be built: ${name}`, () => {
      const built = runtimeNamed(name)?.versions.map(({ version }) => version)
      expect(built).to.include.members(FUNCTION_RUNTIMES[name].offered)
    })
})
