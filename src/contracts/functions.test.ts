import { expect } from 'chai'
import { runtimeNamed } from './builds/runtimes.ts'
import { FUNCTION_RUNTIME_NAMES, FUNCTION_RUNTIMES } from './functions.ts'

describe('the runtimes of functions', () => {
  for (const name of FUNCTION_RUNTIME_NAMES.filter((name) => FUNCTION_RUNTIMES[name].server !== undefined))
    it(`can be built in every version that is offered: ${name}`, () => {
      const built = runtimeNamed(name)?.versions.map(({ version }) => version)
      expect(built).to.include.members(FUNCTION_RUNTIMES[name].offered)
    })
})
