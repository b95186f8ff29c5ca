# The target docs: the book with the pages that the program makes of itself, as Markdown, and as HTML where pandoc is
# there. Asks nothing of the network.
include_guard()
find_program(CAMBRIAN_PYTHON python3)
find_program(CAMBRIAN_PANDOC pandoc)
mark_as_advanced(CAMBRIAN_PYTHON CAMBRIAN_PANDOC)
set(CAMBRIAN_BOOK_PANDOC "")
if(CAMBRIAN_PANDOC)
  set(CAMBRIAN_BOOK_PANDOC ${CAMBRIAN_PANDOC})
endif()
if(CAMBRIAN_PYTHON AND NOT CMAKE_CROSSCOMPILING)
  add_custom_target(docs
    COMMAND ${CAMBRIAN_PYTHON} ${PROJECT_SOURCE_DIR}/docs/make_book.py $<TARGET_FILE:cambrian> ${PROJECT_SOURCE_DIR}
      ${PROJECT_BINARY_DIR}/docs ${CAMBRIAN_BOOK_PANDOC}
    DEPENDS cambrian COMMENT "Making the book" VERBATIM)
endif()
