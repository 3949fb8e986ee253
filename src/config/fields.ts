import { z } from 'zod'

/** Types of settings, which are texts in the environment or values in a file. */

export const IntegerSetting = z.coerce.number().int()
export const PositiveIntegerSetting = IntegerSetting.min(1)
export const integerSettingInRange = (min: number, max: number) => IntegerSetting.min(min).max(max)
export const Port = integerSettingInRange(0, 65_535)
export const Flag = z.union([z.boolean(), z.stringbool()])
export const List = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  ),
])
export const listSettingMatching = (pattern: RegExp, expected: string) =>
  List.pipe(z.array(z.string().regex(pattern, expected)))
export const Networks = listSettingMatching(
  /^[0-9a-fA-F.:]+\/[0-9]{1,3}(@[0-9]{1,5}(\+[0-9]{1,5})*)?$/,
  'expected a CIDR, with @ and ports if not all are meant, such as 10.1.0.0/16@443+5000',
)
export const OptionalText = z.string().optional()
export const Url = z.url({ protocol: /^https?$/ })
