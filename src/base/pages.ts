/** The number of items on a page. */
export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

export const LIST_PAGES: PageSizes = { defaultSize: 50, maxSize: 500 };
