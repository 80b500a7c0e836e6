//! Tables for people: as wide as the terminal, or as wide as they are where nobody looks.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

/// Up to this width a column is never broken: an id, a time, a state. An id has 30 characters.
const KEPT_WHOLE: u16 = 32;
/// What the columns that may be broken need together, so that breaking them helps.
const LEAST_TEXT: u16 = 24;
/// Comfy-table puts a space on both sides of a cell.
const PADDING: u16 = 2;

/// A table of these rows under this head.
pub(super) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let width = terminal_size::terminal_size().map(|(width, _)| width.0);
    // Without spaces at the ends of lines, so that a copied line is only its text.
    fitted(head, rows, width).trim_fmt()
}

fn fitted(
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    terminal: Option<u16>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    let widths = table.column_max_content_widths();
    let whole = |width: &&u16| **width <= KEPT_WHOLE;
    let taken: u16 = widths.iter().filter(whole).map(|width| width + PADDING).sum();
    // Where even the short columns leave no room, the terminal breaks the lines better.
    let fits = terminal.filter(|terminal| taken.saturating_add(LEAST_TEXT) <= *terminal);
    if let Some(terminal) = fits {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(terminal);
        for (column, width) in table.column_iter_mut().zip(&widths) {
            if whole(&width) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "pay_ztoz4px7nu7gthzahkekgvvpgk";
    const TEXT: &str =
        "money arrived, but the order was paid by other money; it will be given back";

    fn lines(terminal: Option<u16>) -> Vec<String> {
        let row = vec![ID.to_owned(), TEXT.to_owned()];
        let table = fitted(&["payment", "text"], [row], terminal).trim_fmt();
        table.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_terminal_is_not_exceeded_and_an_id_stays_whole() {
        let lines = lines(Some(80));
        assert!(lines.len() > 2, "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains(ID)), "{lines:#?}");
    }

    #[test]
    fn nothing_is_broken_for_a_program_or_a_terminal_that_is_too_narrow() {
        for terminal in [None, Some(40)] {
            let lines = lines(terminal);
            assert_eq!(lines.len(), 2, "{lines:#?}");
            assert!(lines.iter().all(|line| line.trim_end() == line), "{lines:#?}");
            assert!(lines[1].contains(TEXT), "{lines:#?}");
        }
    }
}
