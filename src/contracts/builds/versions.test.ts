import { expect } from 'chai'
import { RUNTIMES, type RuntimeName, runtimeNamed, statusOf } from './runtimes.ts'
import { chooseVersion } from './versions.ts'

describe('chooseVersion, RUNTIMES and statusOf', () => {
  const cases: [sentence: string, runtime: RuntimeName, wanted: string | undefined, expected: string | undefined][] = [
    ['the default without a version', 'nodejs', undefined, '24'],
    ['the default for a name without a version', 'nodejs', 'lts/*', '24'],
    ['the default if a range permits it', 'nodejs', '>=18', '24'],
    ['the newest in a range that excludes the default', 'nodejs', '>=26', '26'],
    ['the named version', 'nodejs', '22', '22'],
    ['the version of a patch', 'nodejs', 'v22.11.0', '22'],
    ['the version of any patch', 'nodejs', '22.x', '22'],
    ['the same major version after a caret', 'nodejs', '^22.1.0', '22'],
    ['the supported one of several', 'nodejs', '18 || 22', '22'],
    ['a version within two bounds', 'nodejs', '>=20 <24', '22'],
    ['a version below a patch', 'nodejs', '<22.5', '22'],
    ['no version if all supported ones are newer', 'nodejs', '^18', undefined],
    ['no version if all supported ones are older', 'nodejs', '>=30', undefined],
    ['a Python version of two numbers', 'python', '3.12', '3.12'],
    ['a Python version of three numbers', 'python', '3.12.4', '3.12'],
    ['a later minor version after a caret', 'python', '^3.11', '3.13'],
    ['the same minor version after a tilde', 'python', '~3.11', '3.11'],
    ['a version that satisfies a list with commas', 'python', '>=3.10, <3.12', '3.11'],
    ['no version with another major number', 'python', '^2.7', undefined],
    ['the newest above an excluded default', 'python', '>3.13', '3.14'],
    ['a version with later patches', 'python', '>3.13.2', '3.13'],
    ['the default above the minimum of a Go module', 'go', '>=1.24', '1.26'],
    ['a .NET version', 'dotnet', '8.0', '8.0'],
    ['a PHP version', 'php', '^8.3', '8.4'],
    ['a Ruby version', 'ruby', '~> 3.3', '3.4'],
    ['the supported one of several for Composer', 'php', '^7.4|^8.3', '8.4'],
    ['the newest of several minor versions for Composer', 'php', '~8.2.0 | ~8.3.0', '8.3'],
    ['a later minor version after a tilde for Composer', 'php', '~8.1', '8.4'],
    ['a version that is not excluded', 'python', '>=3.12,!=3.13.*', '3.14'],
    ['a version with an excluded patch', 'python', '>=3.9, !=3.9.7', '3.13'],
    ['a version in an inclusive range', 'nodejs', '18 - 22', '22'],
  ]
  for (const [sentence, name, wanted, expected] of cases) {
    it(`returns ${sentence}: ${name} ${wanted ?? ''}`, () => {
      const runtime = runtimeNamed(name)
      expect(runtime && chooseVersion(runtime, wanted)?.version).to.equal(expected)
    })
  }

  it('has one default per runtime and each version once', () => {
    for (const { name, versions } of RUNTIMES) {
      expect(
        versions.filter(({ isDefault }) => isDefault),
        name,
      ).to.have.length(1)
      expect(new Set(versions.map(({ version }) => version)).size).to.equal(versions.length)
    }
  })

  it('returns Deprecated from half a year before the end of support', () => {
    const at = (day: string, endsAt?: string) => statusOf({ endsAt }, Date.parse(day))
    expect(at('2026-01-01', '2027-01-01')).to.equal('Supported')
    expect(at('2026-08-01', '2027-01-01')).to.equal('Deprecated')
    expect(at('2027-01-02', '2027-01-01')).to.equal('Ended')
    expect(at('2027-01-02')).to.equal('Supported')
  })
})
