import { expect } from 'chai'
import { addVolumeSizes, capRequestAtLimit } from './disk.ts'

describe('capRequestAtLimit and addVolumeSizes', () => {
  it('reduce the request to the limit', () => {
    expect(capRequestAtLimit({ limit: '64Mi', request: '128Mi' })).to.deep.equal({ limit: '64Mi', request: '64Mi' })
    expect(capRequestAtLimit({ limit: '4Gi', request: '0' })).to.deep.equal({ limit: '4Gi', request: '0' })
  })

  it('add the full sizes of volumes to both', () => {
    const share = addVolumeSizes({ limit: '4Gi', request: '128Mi' }, ['20Gi', '512Mi'])
    expect(share).to.deep.equal({ limit: '25088Mi', request: '21120Mi' })
  })
})
