import { expect } from 'chai'
import type { BackupTargets, TargetAccess } from '../../src/adapters/backuptarget/port.ts'

type Opened = { targets: BackupTargets; good: TargetAccess; missing: string; forbidden: string }

/** The result of testing a target, for a store with one bucket that the key may list, and one that it may not. */
export function backupTargetContract(open: () => Opened): void {
  const outcomeOf = async (change: (opened: Opened) => Partial<TargetAccess>) => {
    const opened = open()
    return (await opened.targets.test({ ...opened.good, ...change(opened) })).code
  }

  it('returns Ok if the bucket can be listed', async () => {
    expect(await outcomeOf(() => ({}))).to.equal('Ok')
    expect(await outcomeOf(() => ({ prefix: 'a/folder' }))).to.equal('Ok')
  })
  it('returns AuthenticationFailed for a wrong secret and an unknown key', async () => {
    expect(await outcomeOf(() => ({ secretAccessKey: 'another-secret-of-some-length' }))).to.equal(
      'AuthenticationFailed',
    )
    expect(await outcomeOf(() => ({ accessKeyId: 'nobody' }))).to.equal('AuthenticationFailed')
  })
  it('returns BucketMissing for a missing bucket', async () => {
    expect(await outcomeOf(({ missing }) => ({ bucket: missing }))).to.equal('BucketMissing')
  })
  it('returns AccessDenied for a bucket that the key may not list', async () => {
    expect(await outcomeOf(({ forbidden }) => ({ bucket: forbidden }))).to.equal('AccessDenied')
  })
  it('returns invalid-target for the metadata address of clouds, without calling it', async () => {
    const { targets, good } = open()
    const verdict = await targets.test({ ...good, endpoint: 'http://169.254.169.254' })
    expect(verdict.code).to.equal('invalid-target')
    expect(verdict.message).to.match(/never called/)
  })
}
