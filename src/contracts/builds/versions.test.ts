import { expect } from 'chai'
import { RUNTIMES, type RuntimeName, runtimeNamed, statusOf } from './runtimes.ts'
import { chooseVersion } from './versions.ts'

describe('the version that is built with', () => {
  const cases: [sentence: string, runtime: RuntimeName, wanted: string | undefined, expected: string | undefined][] = [
    ['is the default where nothing is said', 'nodejs', undefined, '24'],
    ['is the default where what is said names no version', 'nodejs', 'lts/*', '24'],
    ['is the default if a range permits it', 'nodejs', '>=18', '24'],
    ['is the newest that a range permits', 'nodejs', '>=26', '26'],
    ['is the one that is named', 'nodejs', '22', '22'],
    ['is the one of a patch', 'nodejs', 'v22.11.0', '22'],
    ['is the one of any patch', 'nodejs', '22.x', '22'],
    ['stays in the first number after a caret', 'nodejs', '^22.1.0', '22'],
    ['is one of several', 'nodejs', '18 || 22', '22'],
    ['is within two bounds', 'nodejs', '>=20 <24', '22'],
    ['may be below a patch', 'nodejs', '<22.5', '22'],
    ['is none if ours are all newer', 'nodejs', '^18', undefined],
    ['is none if ours are all older', 'nodejs', '>=30', undefined],
    ['is that of Python by two numbers', 'python', '3.12', '3.12'],
    ['is that of Python by three', 'python', '3.12.4', '3.12'],
    ['may grow in the second number after a caret', 'python', '^3.11', '3.13'],
    ['stays in the second number after a tilde', 'python', '~3.11', '3.11'],
    ['obeys commas', 'python', '>=3.10, <3.12', '3.11'],
    ['is not another first number', 'python', '^2.7', undefined],
    ['is the newest of a range that forbids the default', 'python', '>3.13', '3.14'],
    ['stands for all its patches', 'python', '>3.13.2', '3.13'],
    ['is the default for what a module of Go needs at least', 'go', '>=1.24', '1.26'],
    ['is that of .NET', 'dotnet', '8.0', '8.0'],
    ['is that of PHP', 'php', '^8.3', '8.4'],
    ['is that of Ruby', 'ruby', '~> 3.3', '3.4'],
    ['is one of several of Composer', 'php', '^7.4|^8.3', '8.4'],
    ['is one of several lines of Composer', 'php', '~8.2.0 | ~8.3.0', '8.3'],
    ['may grow in the second number after a tilde of Composer', 'php', '~8.1', '8.4'],
    ['is not the one that is left out', 'python', '>=3.12,!=3.13.*', '3.14'],
    ['may be one of which a patch is left out', 'python', '>=3.9, !=3.9.7', '3.13'],
    ['is between two that are included', 'nodejs', '18 - 22', '22'],
  ]
  for (const [sentence, name, wanted, expected] of cases) {
    it(`${sentence}: ${name} ${wanted ?? ''}`, () => {
      const runtime = runtimeNamed(name)
      expect(runtime && chooseVersion(runtime, wanted)?.version).to.equal(expected)
    })
  }

  it('is one default of each runtime, and every version once', () => {
    for (const { name, versions } of RUNTIMES) {
      expect(
        versions.filter(({ isDefault }) => isDefault),
        name,
      ).to.have.length(1)
      expect(new Set(versions.map(({ version }) => version)).size).to.equal(versions.length)
    }
  })

  it('is deprecated half a year before its end', () => {
    const at = (day: string, endsAt?: string) => statusOf({ endsAt }, Date.parse(day))
    expect(at('2026-01-01', '2027-01-01')).to.equal('Supported')
    expect(at('2026-08-01', '2027-01-01')).to.equal('Deprecated')
    expect(at('2027-01-02', '2027-01-01')).to.equal('Ended')
    expect(at('2027-01-02')).to.equal('Supported')
  })
})
