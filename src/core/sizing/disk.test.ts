import { expect } from 'chai'
import { addVolumeSizes, capRequestAtLimit } from './disk.ts'

describe('the share of a container in the disk of its node', () => {
  it('reserves no more than it may write', () => {
    expect(capRequestAtLimit({ limit: '64Mi', request: '128Mi' })).to.deep.equal({ limit: '64Mi', request: '64Mi' })
    expect(capRequestAtLimit({ limit: '4Gi', request: '0' })).to.deep.equal({ limit: '4Gi', request: '0' })
  })

  it('grows by the sizes of its volumes, which are reserved whole', () => {
    const share = addVolumeSizes({ limit: '4Gi', request: '128Mi' }, ['20Gi', '512Mi'])
    expect(share).to.deep.equal({ limit: '25088Mi', request: '21120Mi' })
  })
})
